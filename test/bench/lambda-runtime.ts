/** A whole core. Source: AWS Lambda Developer Guide, "Configure Lambda function memory". */
const MIB_OF_A_CORE = 1_769;

/** The share of one core that a function has. */
export function shareOfCore(memoryMiB: number): number {
  return Math.min(1, memoryMiB / MIB_OF_A_CORE);
}

/** How the bootstrap of Lambda's Node.js starts it, with what the functions add. Source: the bootstrap of nodejs18.x. */
export function lambdaFlags(memoryMiB: number): readonly string[] {
  return [`--max-semi-space-size=${Math.floor(memoryMiB / 20)}`, `--max-old-space-size=${Math.floor(memoryMiB * 0.9)}`];
}
