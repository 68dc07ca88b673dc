// The schemas of the interface as types for tsc: server/schemas.json and docs/plan.schema.json.
//
//	node tests/web/types.mjs TO.d.ts
import { mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { dirname } from 'node:path';

const NAMED = {
    string: 'string',
    integer: 'number',
    number: 'number',
    boolean: 'boolean',
    null: 'null',
};

/** A reference's name: the last part of it. @param {string} ref @param {string} prefix */
const refName = (ref, prefix) => prefix + capital(ref.split('/').at(-1) ?? '');
const capital = (/** @type {string} */ name) =>
    name.replace(/(?:^|[-_])(\w)/g, (_, letter) => letter.toUpperCase());

/** @param {any} schema @param {string} prefix @returns {string} */
function type(schema, prefix) {
    if (schema === true || schema === undefined) return 'any';
    if (schema.$ref) return refName(schema.$ref, prefix);
    const several = schema.anyOf ?? schema.oneOf;
    if (several) return several.map((/** @type {any} */ one) => type(one, prefix)).join(' | ');
    if (schema.const !== undefined) return JSON.stringify(schema.const);
    if (schema.enum)
        return schema.enum.map((/** @type {any} */ one) => JSON.stringify(one)).join(' | ');
    if (Array.isArray(schema.type))
        return schema.type
            .map((/** @type {any} */ one) => type({ ...schema, type: one }, prefix))
            .join(' | ');
    if (schema.type === 'array') return `(${type(schema.items, prefix)})[]`;
    if (schema.type === 'object' || schema.properties) return object(schema, prefix);
    return NAMED[/** @type {keyof typeof NAMED} */ (schema.type)] ?? 'any';
}

/** @param {any} schema @param {string} prefix */
function object(schema, prefix) {
    const needed = new Set(schema.required ?? []);
    const rows = Object.entries(schema.properties ?? {}).map(
        ([name, one]) =>
            `${JSON.stringify(name)}${needed.has(name) ? '' : '?'}: ${type(one, prefix)};`,
    );
    if (!rows.length && schema.additionalProperties?.type)
        return `Record<string, ${type(schema.additionalProperties, prefix)}>`;
    return rows.length ? `{ ${rows.join(' ')} }` : 'Record<string, any>';
}

const api = JSON.parse(readFileSync('server/schemas.json', 'utf8'));
const plan = JSON.parse(readFileSync('docs/plan.schema.json', 'utf8'));
const lines = [
    ...Object.entries(api).map(([name, schema]) => `export type ${name} = ${type(schema, '')};`),
    ...Object.entries(plan.$defs ?? {}).map(
        ([name, schema]) => `export type Plan${capital(name)} = ${type(schema, 'Plan')};`,
    ),
    `export type PlanDocument = ${type(plan, 'Plan')};`,
];
const to = process.argv[2];
mkdirSync(dirname(to), { recursive: true });
writeFileSync(to, `${lines.join('\n')}\n`);
