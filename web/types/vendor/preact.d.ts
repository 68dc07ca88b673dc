export * from '../../../build/npm-web/node_modules/preact/src/index';
