import { describe, expect, it } from 'vitest';
import { explain, explainCommand } from '../../../bin/commands/explain.ts';
import { DEFAULT_POLICY } from '../../../lambdas/approval/policy.ts';
import { BENCH_CLUSTER, csrOf, machineOf, requestOf } from '../../bench/fixtures.ts';
import { failure, fakeClient } from '../audit/sources/fake-cluster.ts';
import { outcomeOf, recordedIo } from './io.ts';

const NOW = Date.parse('2026-01-01T00:03:00Z');
const CLUSTER_API = '/apis/cluster.x-k8s.io';
const REQUESTS = '/apis/certificates.k8s.io/v1/certificatesigningrequests';
const signal = new AbortController().signal;

interface Made {
  readonly metadata: { readonly name: string; readonly creationTimestamp: string };
  readonly status?: object;
}
const made = (at = '2026-01-01T00:01:00Z'): Made => JSON.parse(JSON.stringify(csrOf(8, requestOf(8), at)));
const OWN = made();
const { name } = OWN.metadata;
const APPROVED = {
  ...OWN,
  status: { conditions: [{ type: 'Approved', status: 'True', reason: 'KubectlApprove', message: '' }] },
};
/** Of the same requester, and older. */
const OLDER = {
  ...made('2026-01-01T00:00:00Z'),
  metadata: { ...made('2026-01-01T00:00:00Z').metadata, name: 'csr-older', uid: 'older' },
};

/** @param gets what reading the request answers, one after the other */
async function explained(gets: readonly (object | undefined)[], listed: readonly object[]) {
  let count = 0;
  const client = fakeClient({
    [CLUSTER_API]: { versions: [{ version: 'v1beta2' }] },
    [`${CLUSTER_API}/v1beta2/namespaces/eksa-system/machines`]: [machineOf(8)],
    [`${CLUSTER_API}/v1beta2/namespaces/eksa-system/clusters`]: [BENCH_CLUSTER],
    [REQUESTS]: [...listed],
    [`${REQUESTS}/${name}`]: async () => {
      const found = gets[count];
      count += 1;
      if (found === undefined) throw failure('not-found');
      return found;
    },
  });
  const target = {
    cluster: {
      name: 'bench',
      provider: 'eks-anywhere' as const,
      endpoints: ['10.0.9.9'],
      serviceCidrs: ['10.96.0.0/12'],
    },
    workload: client,
    management: client,
    machinesNamespace: 'eksa-system',
  };
  const { verdict } = await explain(target, [DEFAULT_POLICY], name, NOW, signal);
  return { verdict: verdict.verdict, reason: verdict.reason, gets: count };
}

describe('a request that the list has no room for', () => {
  it.each<[string, readonly object[]]>([
    ['alone', []],
    ['beside an older one of the same requester', [OLDER]],
  ])('is judged with the evidence of its node: %s', async (_, listed) => {
    expect(await explained([OWN, OWN], listed)).toEqual({ verdict: 'approve', reason: 'Proven', gets: 2 });
  });

  it.each<[string, object | undefined]>([
    ['was decided', APPROVED],
    ['was deleted', undefined],
    ['was made again', { ...OWN, metadata: { ...OWN.metadata, uid: 'another' } }],
  ])('is only said to be decided or deleted where it is: it %s', async (_, second) => {
    expect(await explained([OWN, second], [])).toMatchObject({ reason: 'Deleting', gets: 2 });
  });
});

it('a request that the list has is read once', async () => {
  expect(await explained([OWN], [OWN])).toEqual({ verdict: 'approve', reason: 'Proven', gets: 1 });
});

describe('a name that no request has', () => {
  const said = async (asked: string) => {
    const client = fakeClient({
      [`${REQUESTS}/${asked}`]: () => {
        throw failure('not-found');
      },
    });
    const target = {
      cluster: { name: 'bench', provider: 'eks-anywhere', endpoints: [], serviceCidrs: undefined },
      workload: client,
      management: client,
      machinesNamespace: 'eksa-system',
    } as const;
    const places = { program: 'npx certmarshal', repeatNames: '' };
    const query = { name: asked, policies: [], output: 'table', places, repeat: ' --context oslo' } as const;
    const io = recordedIo();
    return outcomeOf(io, explainCommand(target, query, signal, io));
  };

  it('may be that of a Node: nothing else is read', async () => {
    const { status, stdout, stderr } = await said('worker-17');
    expect({ status, stdout }).toEqual({ status: 1, stdout: '' });
    expect(stderr).toMatch(
      /^bench has no CertificateSigningRequest worker-17\. .*\nIf worker-17 is a Node: npx certmarshal explain --node worker-17 --context oslo\n$/,
    );
  });

  it.each(['csr-q77zt', 'node-csr-1', 'a b'])('is not where it cannot be: %s', async (asked) => {
    expect((await said(asked)).stderr).not.toContain('is a Node');
  });
});
