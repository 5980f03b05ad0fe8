/** `CERTMARSHAL_RUNS=10 npm run test:fast` proves ten times as much, and takes longer. */
const TIMES = Number(process.env['CERTMARSHAL_RUNS'] ?? 1);

/** How often a random test runs whose every run may find something new. @param count in `npm test` */
export function runs(count: number): number {
  return Math.ceil(count * TIMES);
}
