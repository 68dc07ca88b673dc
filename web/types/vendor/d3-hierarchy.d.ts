export * from '../../../build/npm/node_modules/@types/d3-hierarchy';
