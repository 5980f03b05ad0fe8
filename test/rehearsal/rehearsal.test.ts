import { describe, expect, it } from 'vitest';
import { realComponents } from '../control-plane/real.ts';
import { installMiniStack, REGION, SPOKE_ACCOUNT } from './ministack.ts';
import { rehearse } from './rehearse.ts';
import { tool } from './tool.ts';

const SUITE = 'the deploy rehearsal';
const real = await realComponents(SUITE, 'etcd', 'kubeApiserver', 'kubeControllerManager');
const { missing } = await tool(SUITE, installMiniStack);

describe.skipIf(real.missing ?? missing)('the deploy rehearsal', () => {
  it(
    'deploys the app, which approves what is then issued, and is destroyed but for what is retained',
    async () => {
      const lines: string[] = [];
      // A failure says how far it came.
      const summary = await rehearse((line) => lines.push(line)).catch((error: unknown) => {
        throw new Error(`after: ${lines.join('\n')}`, { cause: error });
      });
      expect(summary).toEqual({
        stacks: ['CertMarshal', `CertMarshalSpoke-${SPOKE_ACCOUNT}-${REGION}`],
        ticks: expect.any(Number),
        targets: 5,
        csrsApproved: 9,
        csrsIssued: 9,
        // One in each account.
        leftOut: Array(2).fill(expect.stringMatching(/^AWS::EKS::AccessEntry .* created through the API$/)),
      });
      expect(summary.ticks).toBeGreaterThan(0);
    },
    15 * 60_000,
  );
});
