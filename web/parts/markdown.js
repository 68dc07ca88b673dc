// The pages of rules are Markdown of the simplest kind: heads, paragraphs, lists, code within lines.
import { html } from '../html.js';

/** `code`, *emphasis*; of [text](link) the text: links lead to files. @param {string} text */
const inline = (text) =>
    text.split(/(`[^`]+`|\*[^*]+\*|\[[^\]]+\]\([^)]+\))/).map((part) => {
        if (part.startsWith('`')) return html`<code>${part.slice(1, -1)}</code>`;
        if (/^\*.+\*$/.test(part)) return html`<em>${part.slice(1, -1)}</em>`;
        return /^\[([^\]]+)\]\(/.exec(part)?.[1] ?? part;
    });

/** @param {string} block */
function draw(block) {
    if (block.startsWith('#')) return html`<h3>${inline(block.replace(/^#+ /, ''))}</h3>`;
    if (/^[-*] /.test(block))
        return html`<ul>${block.split(/\n(?=[-*] )/).map((item) => html`<li>${inline(item.slice(2))}</li>`)}</ul>`;
    return html`<p>${inline(block)}</p>`;
}

/** Without its head: that stands above already. @param {{text: string}} props */
export const Markdown = ({ text }) =>
    html`<div>${text
        .replace(/^# .*\n/, '')
        .split(/\n\n+/)
        .filter((block) => block.trim())
        .map((block) => draw(block.trim()))}</div>`;
