import { html } from '../html.js';
export const Page = () => html`<h1>package</h1>`;
