// Something to take along: text with a button that copies it.
import { html, useRef, useState } from '../html.js';

/** Where the clipboard is not to be had (no TLS), text is selected and copied as of old. @param {string} text */
async function copy(text) {
    try {
        await navigator.clipboard.writeText(text);
    } catch {
        const area = document.createElement('textarea');
        area.value = text;
        document.body.append(area);
        area.select();
        const done = document.execCommand('copy');
        area.remove();
        if (!done) throw new Error('the browser does not allow it');
    }
}

/** @param {{text: () => string, children: any}} props */
export function Copy({ text, children }) {
    const [said, setSaid] = useState('');
    const timer = useRef(/** @type {ReturnType<typeof setTimeout> | undefined} */ (undefined));
    const press = async () => {
        setSaid(
            await copy(text()).then(
                () => 'copied',
                (error) => `not copied: ${error.message}`,
            ),
        );
        clearTimeout(timer.current);
        timer.current = setTimeout(() => setSaid(''), 4000);
    };
    return html`<button type="button" onClick=${press}>${children}</button><span class="small" role="status">${said && ` ${said}`}</span>`;
}

/** A command line. @param {{line: string, what: string}} props */
export const Command = ({ line, what }) => html`<li class="command">
    <span>${what}</span> <code>${line}</code> <${Copy} text=${() => line}>Copy<span class="hidden">: ${what}</span><//>
</li>`;
