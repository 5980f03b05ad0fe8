import { expect, it } from 'vitest';
import { assessExpiry, assessInSteps } from '../../../lambdas/audit/assess.ts';
import { DEFAULT_THRESHOLDS } from '../../../lambdas/audit/rules/thresholds.ts';
import { BERLIN, certificate, days, NOW } from './fixtures.ts';

it.each([
  ['expire', days(1)],
  ['are fine', days(400)],
])('looks at a part of 10,000 certificates that %s in each step, with the same result', (_expiring, notAfter) => {
  let looks = 0;
  const seen = Array.from({ length: 10_000 }, (_, index) => ({
    ...certificate({ what: 'ca-bundle', source: 'webhooks', where: `w${index}`, fingerprint: `f${index}` }),
    get notAfter() {
      looks += 1;
      return notAfter;
    },
  }));
  const steps = assessInSteps(BERLIN, seen, undefined, DEFAULT_THRESHOLDS, NOW);
  let longest = 0;
  for (;;) {
    const before = looks;
    const step = steps.next();
    longest = Math.max(longest, looks - before);
    if (step.done !== true) continue;
    expect(longest).toBeLessThan(looks / 4);
    expect(step.value).toEqual(assessExpiry(BERLIN, seen, undefined, DEFAULT_THRESHOLDS, NOW));
    return;
  }
});
