export { default } from '../../../build/npm-web/node_modules/htm/dist/htm';
