import { describe, expect, it } from 'vitest';
import { ALARMS } from '../../lambdas/tables/alarms.ts';
import { realComponents } from '../control-plane/real.ts';
import { installMiniStack, REGION, SPOKE_ACCOUNT } from './ministack.ts';
import { rehearse } from './rehearse.ts';
import { tool } from './tool.ts';

/** Alarms over all clusters at once, and those of the objective: metric expressions. */
const EXPRESSIONS = Object.entries(ALARMS).filter(([id, { watches }]) => 'signal' in watches || id.startsWith('Slo'));

const SUITE = 'the deploy rehearsal';
const real = await realComponents(SUITE, 'etcd', 'kubeApiserver', 'kubeControllerManager');
const { missing } = await tool(SUITE, installMiniStack);

describe.skipIf(real.missing ?? missing)('the deploy rehearsal', () => {
  it(
    'deploys the app, which approves what is then issued, is made again, and is taken away with all that it left',
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
        // Nine approvals, the hostile request, and what the first sweeps of the kubeconfigs held.
        journalLines: expect.any(Number),
        message: expect.stringMatching(
          /^\[warning\] certmarshal, since \d{4}-\d\d-\d\d \d\d:\d\d UTC: Decisions could not be written to the journal; only the log has them\.$/,
        ),
        leftOut: expect.any(Array),
      });
      expect(summary.journalLines).toBeGreaterThanOrEqual(10);
      const became = Map.groupBy(summary.leftOut, (line) => {
        const [type] = line.split(' ', 1);
        return `${type} ${line.endsWith('; created through the API') ? 'created' : 'missing'}`;
      });
      // An access entry in each account, and one composite alarm of each severity; the others are metric expressions.
      expect(Object.fromEntries([...became].map(([what, all]) => [what, all.length]))).toEqual({
        'AWS::EKS::AccessEntry created': 2,
        'AWS::CloudWatch::CompositeAlarm created': 2,
        'AWS::CloudWatch::Alarm missing': EXPRESSIONS.length,
      });
      expect(summary.ticks).toBeGreaterThan(0);
    },
    25 * 60_000,
  );
});
