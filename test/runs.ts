/** `CERTMARSHAL_RUNS=10 npm run test:fast` proves ten times as much, and takes longer. */
const TIMES = Number(process.env['CERTMARSHAL_RUNS'] ?? 1);
// Else no case would run, and every law hold.
if (!(TIMES > 0)) throw new Error('CERTMARSHAL_RUNS is how many times as often random tests run: a number above 0');

/** How often a random test runs whose every run may find something new. @param count in `npm test` */
export function runs(count: number): number {
  return Math.ceil(count * TIMES);
}
