// What platform_node.ts uses of Node, so that the build needs no types of Node.
declare module 'node:crypto' {
  export const webcrypto: Crypto;
}
