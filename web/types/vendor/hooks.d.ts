export * from '../../../build/npm-web/node_modules/preact/hooks/src/index';
