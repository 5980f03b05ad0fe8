import { expect, it } from 'vitest';
import SCRIPT from '../../../lambdas/page/script.json' with { type: 'json' };
import { buildScript } from '../../../lambdas/page/write-script.ts';

it('is what the code says; if not, run: npm run -s generate', () => {
  expect(SCRIPT).toBe(buildScript());
});
