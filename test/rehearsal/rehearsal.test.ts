import { describe, expect, it } from 'vitest';
import { realComponents } from '../control-plane/real.ts';
import { installMiniStack } from './ministack.ts';
import { rehearse } from './rehearse.ts';
import { tool } from './tool.ts';

const SUITE = 'the deploy rehearsal';
const real = await realComponents(SUITE, 'etcd', 'kubeApiserver', 'kubeControllerManager');
const { missing } = await tool(SUITE, installMiniStack);

describe.skipIf(real.missing ?? missing)(`${SUITE}`, () => {
  it(
    'deploys the app, which approves what is then issued, and is destroyed without a trace',
    async () => {
      const lines: string[] = [];
      // A failure says how far it came.
      const summary = await rehearse((line) => lines.push(line)).catch((error: unknown) => {
        throw new Error(`after: ${lines.join('\n')}`, { cause: error });
      });
      expect(summary).toEqual({
        stacks: ['CertMarshal'],
        ticks: expect.any(Number),
        targets: 4,
        csrsApproved: 7,
        csrsIssued: 7,
        leftOut: [expect.stringMatching(/^AWS::EKS::AccessEntry .* created through the API$/)],
      });
      expect(summary.ticks).toBeGreaterThan(0);
    },
    15 * 60_000,
  );
});
