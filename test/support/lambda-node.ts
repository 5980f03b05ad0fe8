/**
 * The options of V8 with which Lambda starts a function of so much memory. They are on the command line of node, where they win over NODE_OPTIONS. Source: the bootstrap of
 * nodejs14.x and nodejs18.x, of which there are public copies; that of nodejs24.x was not seen.
 */
export function lambdaNode(memoryMiB: number): readonly string[] {
  return [`--max-semi-space-size=${Math.floor(memoryMiB / 20)}`, `--max-old-space-size=${Math.floor(memoryMiB * 0.9)}`];
}
