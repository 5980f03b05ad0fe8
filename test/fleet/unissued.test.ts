import { expect, onTestFinished, test } from 'vitest';
import { approve } from '../../lambdas/approval/approve.ts';
import { DEFAULT_POLICY, everywhere } from '../../lambdas/approval/policy.ts';
import type { SweepReport } from '../../lambdas/approval/report.ts';
import { compare } from '../../lambdas/words.ts';
import { localClient } from '../support/local-client.ts';
import { startSimulatedApiServer } from './api-server.ts';
import { steppedClock } from './clock.ts';
import { addMachine, grantedRules } from './demo-cluster.ts';
import type { StoredCsr } from './kube-object.ts';
import { askFor, type SimulatedNode } from './kubelet.ts';
import { seededRandom } from './random.ts';

const MINUTE = 60_000;
const NODES = 30;
/** Two nodes ask each minute. */
const ASKING_EVERY = 15;

const nodeOf = (index: number): SimulatedNode => ({
  name: `worker-${index}`,
  dnsNames: [`worker-${index}`],
  ipAddresses: [`10.0.0.${index}`],
});

test.each(['eks', 'eks-anywhere'] as const)(
  'an hour on %s, where the signer issues nothing: one approval a minute from minute 10 on',
  async (provider) => {
    const clock = steppedClock(Date.UTC(2026, 0, 1));
    const server = await startSimulatedApiServer({
      clock,
      name: 'idle',
      random: seededRandom(1),
      users: [{ name: 'certmarshal', rules: grantedRules() }],
    });
    onTestFinished(async () => server.stop());
    const client = localClient(server, server.tokenFor('certmarshal'));
    onTestFinished(() => client.close());
    for (let index = 1; index <= NODES; index += 1) addMachine({ name: 'idle', server }, nodeOf(index));

    const policies = [{ ...DEFAULT_POLICY, mode: everywhere('enforce') }];
    const target = {
      cluster: { name: 'idle', provider },
      workload: client,
      management: client,
      machinesNamespace: 'eksa-system',
      listInstances: async function* () {},
    };
    const sweepAt = async (minute: number): Promise<SweepReport> => {
      for (let index = 1; index <= NODES; index += 1)
        if (minute % ASKING_EVERY === index % ASKING_EVERY) askFor(server.api, `worker-${index}`, nodeOf(index));
      const counting = { countedTo: clock.now() - MINUTE };
      return approve(target, policies, () => clock.now(), AbortSignal.timeout(30_000), {}, { counting });
    };

    const approved: number[] = [];
    let last: SweepReport | undefined;
    for (let minute = 0; minute <= 60; minute += 1) {
      last = await sweepAt(minute);
      approved.push(last.counts.approved);
      await clock.advance(MINUTE);
    }
    const firstAt = provider === 'eks' ? 2 : 0;
    expect(approved.slice(firstAt, firstAt + 10)).toEqual(Array(10).fill(2));
    expect(approved.slice(firstAt + 10)).toEqual(Array(51 - firstAt).fill(1));
    expect(last?.rows.filter(({ reason }) => reason === 'SignerDoesNotIssue').length).toBeGreaterThan(10);
    expect(last?.counted).toMatchObject({ issued: 0, late: 2, notProvable: 0 });

    // The newest approval is issued.
    const approvedAt = ({ status }: StoredCsr) => status.conditions?.[0]?.lastUpdateTime ?? '';
    const [newest] = (server.api.csrs.all() as StoredCsr[]).toSorted((a, b) => compare(approvedAt(b), approvedAt(a)));
    if (newest === undefined) throw new Error('nothing was approved');
    server.api.csrs.put({ ...newest, status: { ...newest.status, certificate: 'LS0t' } });
    const after = await sweepAt(61);
    expect(after.rows.filter(({ reason }) => reason === 'SignerDoesNotIssue')).toEqual([]);
    expect(after.counts.approved).toBeGreaterThan(10);
  },
);
