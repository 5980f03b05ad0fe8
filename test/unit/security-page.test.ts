import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { Template } from 'aws-cdk-lib/assertions';
import { describe, expect, it } from 'vitest';
import { parseFleet } from '../../lambdas/config/load-fleet.ts';
import { DEFAULT_ROLLOUT_POLICY } from '../../lambdas/rollout/policy.ts';
import { stacksOf } from './lib/stacks.ts';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const page = readFileSync(`${ROOT}/docs/security.md`, 'utf8');
const section = (title: string) => {
  const start = page.indexOf(`## ${title}`);
  const end = page.indexOf('\n## ', start + 1);
  return page.slice(start, end === -1 ? undefined : end);
};
const EXAMPLES = readdirSync(`${ROOT}/examples`).map((name) => `examples/${name}`);

/** What holds the answer to each threat, and what an actor can not do: the beginning of its title on the page, and files and folders of `test`. */
const TESTS: Readonly<Record<string, readonly string[]>> = {
  'A node asks for a name': [
    'unit/approval/control-plane-rollout.test.ts',
    'unit/approval/properties.test.ts',
    'unit/approval/attacks.test.ts',
    'control-plane/sweep.test.ts',
  ],
  'Another approver, a person or a': ['unit/approval/issued.test.ts', 'unit/bin/explain-node.test.ts'],
  'A request means something else to': ['unit/x509', 'control-plane/oracle.test.ts'],
  'A request is swapped after it': ['control-plane/sweep.test.ts'],
  'A person is led to approve': [
    'unit/approval/person.test.ts',
    'unit/bin/person.test.ts',
    'control-plane/person.test.ts',
  ],
  'A person approves a wrong request': ['unit/approval/issued.test.ts'],
  'A kubeconfig leads to another cluster': [
    'unit/fleet/plan-tick.test.ts',
    'unit/fleet/same-server.test.ts',
    'unit/cluster/minute.test.ts',
    'fleet/fault-matrix.test.ts',
  ],
  'An instance of one account, VPC': ['unit/approval/evidence/ec2.test.ts', 'unit/aws/ec2-instances.test.ts'],
  'A node gives its instance an': ['unit/approval/evidence/ec2.test.ts', 'unit/approval/rules/ownership.test.ts'],
  'A worker claims the address of': [
    'unit/approval/control-plane-rollout.test.ts',
    'unit/approval/observe.test.ts',
    'unit/approval/evidence/believed.test.ts',
    'unit/kubernetes/client.test.ts',
    'control-plane/sweep.test.ts',
  ],
  'An object is made too large': ['unit/kubernetes/paging.test.ts', 'control-plane/too-large.test.ts'],
  'The name servers of a cluster': ['unit/allowed-addresses.test.ts', 'unit/fleet/plan-tick.test.ts'],
  'An EC2 node passes as a': ['unit/approval/evidence/hybrid.test.ts', 'unit/approval/rules/ownership.test.ts'],
  'A Node or Machine claims the': ['unit/approval/observe.test.ts', 'unit/approval/rules/ownership.test.ts'],
  'A Machine in another namespace claims': [
    'unit/approval/observe.test.ts',
    'unit/audit/audit.test.ts',
    'unit/recovery/recover-nodes.test.ts',
    'unit/kubernetes/machines.test.ts',
  ],
  'A workload cluster gets into the': ['unit/fleet/workload-clusters.test.ts'],
  'A tenant of a management cluster': [
    'unit/fleet/workload-clusters.test.ts',
    'unit/fleet/outcomes.test.ts',
    'fleet/fault-matrix.test.ts',
  ],
  'One source of clusters takes over': ['unit/fleet/update-registry.test.ts'],
  'A tenant makes so many objects': [
    'unit/audit/bound-observations.test.ts',
    'unit/audit/rules/findings.test.ts',
    'unit/audit/summary.test.ts',
  ],
  'A TLS server sends without end': [
    'unit/tls/handshake.test.ts',
    'unit/tls/handshake-messages.test.ts',
    'unit/x509/issued-by.test.ts',
    'unit/audit/sources/tls.test.ts',
    'unit/x509/decode-certificate.test.ts',
  ],
  'A kubeconfig, Node, Machine or DNS': [
    'unit/allowed-addresses.test.ts',
    'unit/kubernetes/client-addresses.test.ts',
    'unit/functions/bundles.test.ts',
    'unit/tls/handshake.test.ts',
    'unit/audit/sources/tls.test.ts',
  ],
  'An audit takes time from approvals,': ['unit/cluster/minute-audit.test.ts'],
  'A cluster hangs, drips, floods, is': [
    'fleet/fault-matrix.test.ts',
    'fleet/sweep-faults.test.ts',
    'unit/fleet/outcomes.test.ts',
    'unit/fleet/plan-tick.test.ts',
  ],
  'A cluster blocks the thread that': [
    'unit/kubernetes/json-values.test.ts',
    'unit/processor-time.test.ts',
    'unit/approval/observe.test.ts',
    'unit/cluster/minute-processor-time.test.ts',
  ],
  'Two sweeps of a cluster at': ['fleet/sweeps-at-once.test.ts'],
  'The registry or the index is': [
    'unit/contracts/registry.test.ts',
    'unit/contracts/fleet-index.test.ts',
    'unit/aws/s3-state.test.ts',
    'unit/fleet/report.test.ts',
    'unit/fleet/plan.test.ts',
  ],
  'A snapshot of an audit is': [
    'unit/audit/snapshot-file.test.ts',
    'unit/cluster/stages/audit.test.ts',
    'unit/fleet/fold-outcomes.test.ts',
    'unit/audit/snapshots.test.ts',
    'fleet/audit.test.ts',
  ],
  'An attacker writes or replays registry': [
    'unit/aws/eks-endpoint.test.ts',
    'unit/cluster/connect/open-target.test.ts',
    'unit/fleet/fits-fleet.test.ts',
    'unit/cluster/sweep.test.ts',
    'unit/fleet/plan.test.ts',
    'unit/lib/hub-stack.test.ts',
  ],
  'A damaged order or outcome': ['unit/contracts/order.test.ts', 'unit/cluster/sweep.test.ts'],
  'Another principal assumes the spoke role': ['unit/lib/spoke-stack.test.ts'],
  'A token of ours is replayed': [
    'unit/fleet/shared-tokens.test.ts',
    'control-plane/token.test.ts',
    'unit/config/file-sections.test.ts',
  ],
  'An attacker makes discovery fail, hides': ['unit/fleet/update-registry.test.ts', 'unit/health'],
  'A reader of the webhook configuration': [
    'unit/functions/handle-webhook.test.ts',
    'fleet/webhook.test.ts',
    'control-plane/webhook.test.ts',
  ],
  'An attacker without a token floods': [
    'unit/fleet/webhook-token.test.ts',
    'unit/functions/handle-webhook.test.ts',
    'unit/lib/hub-stack.test.ts',
  ],
  'The URL is down': ['control-plane/webhook.test.ts'],
  'A cluster writes HTML or script': ['browser/report.test.ts', 'unit/page'],
  'A cluster writes itself into metrics': ['unit/telemetry', 'unit/notify'],
  'An attacker finds the link to': ['unit/notify', 'unit/aws/presigned-link.test.ts'],
  'An attacker edits, removes or adds': ['unit/journal', 'unit/lib/hub-stack.test.ts'],
  'An attack hides behind announced maintenance': ['unit/health'],
  'certmarshal stops, or is stopped, unnoticed': ['unit/lib/monitoring', 'fleet/alarms'],
  'A secret appears in an output': ['fleet/fault-matrix.test.ts', 'fleet/no-secrets.test.ts'],
  "A rollout starts against its owners'": [
    'unit/rollout/checks.test.ts',
    'unit/rollout/laws.test.ts',
    'cluster-api/rollout.test.ts',
  ],
  'Two clusters of a management cluster': [
    'unit/rollout/plan-simulation.test.ts',
    'cluster-api/external-etcd.test.ts',
    'fleet/rollouts.test.ts',
  ],
  'A rollout is started twice: two': ['cluster-api/rollout.test.ts', 'unit/rollout'],
  'An attacker writes the annotations of': [
    'unit/rollout/plan.test.ts',
    'unit/rollout/laws.test.ts',
    'unit/contracts/rollout-mark.test.ts',
  ],
  'The owner of one cluster keeps': [
    'unit/rollout/plan-simulation.test.ts',
    'unit/rollout/step-rollout.test.ts',
    'unit/rollout/policy-of.test.ts',
  ],
  'A rollout counts as done while': [
    'unit/rollout/verification.test.ts',
    'unit/rollout/progress.test.ts',
    'unit/rollout',
  ],
  'An attacker uses a recovery to': [
    'unit/recovery',
    'control-plane/recovery.test.ts',
    'fleet/recovery.test.ts',
    'unit/cluster/minute-recovery.test.ts',
  ],
  worker: [
    'unit/approval/control-plane-rollout.test.ts',
    'unit/approval/attacks.test.ts',
    'unit/approval/evidence/ec2.test.ts',
    'unit/approval/observe.test.ts',
    'unit/audit/rules/authority.test.ts',
    'unit/audit/laws.test.ts',
  ],
  tenant: [
    'unit/approval/observe.test.ts',
    'unit/audit/audit.test.ts',
    'unit/recovery/recover-nodes.test.ts',
    'unit/rollout/observe.test.ts',
    'unit/rollout/plan-simulation.test.ts',
    'unit/rollout/checks.test.ts',
    'unit/kubernetes/client-addresses.test.ts',
  ],
  'cluster administrator': [
    'unit/cluster/minute-processor-time.test.ts',
    'unit/kubernetes/json-values.test.ts',
    'unit/kubernetes/client-routes.test.ts',
    'unit/cluster/rollout-ledger.test.ts',
    'unit/words/findings.test.ts',
    'fleet/fault-matrix.test.ts',
  ],
  'spoke administrator': [
    'unit/approval/evidence/ec2.test.ts',
    'unit/fleet/fits-fleet.test.ts',
    'unit/fleet/shared-tokens.test.ts',
    'unit/lib/spoke-stack.test.ts',
  ],
  'writer of the state bucket': [
    'unit/aws/eks-endpoint.test.ts',
    'unit/cluster/connect/open-target.test.ts',
    'unit/fleet/fits-fleet.test.ts',
    'unit/fleet/plan.test.ts',
    'unit/contracts/fleet-index.test.ts',
    'unit/lib/hub-stack.test.ts',
  ],
  network: [
    'unit/kubernetes/expired-server.test.ts',
    'unit/allowed-addresses.test.ts',
    'unit/tls/rebinding.test.ts',
    'unit/audit/laws.test.ts',
    'unit/audit/rules/inferred-ends.test.ts',
  ],
};

/** Every action that identity policies of a template allow. */
function actionsIn(template: Template): readonly string[] {
  const documents = ['AWS::IAM::Policy', 'AWS::IAM::ManagedPolicy', 'AWS::IAM::Role'].flatMap((type) =>
    Object.values(template.findResources(type)).flatMap(({ Properties }) => [
      Properties.PolicyDocument,
      ...(Properties.Policies ?? []).map(({ PolicyDocument }: { PolicyDocument: object }) => PolicyDocument),
    ]),
  );
  return documents
    .filter((document) => document !== undefined)
    .flatMap(({ Statement }) => Statement)
    .filter(({ Effect }) => Effect === 'Allow')
    .flatMap(({ Action }) => Action);
}

describe('docs/security.md', () => {
  it.each(['fleet.yaml', ...EXAMPLES])('has every action that the stacks of %s allow', (file) => {
    const parsed = parseFleet(readFileSync(`${ROOT}/${file}`, 'utf8'), file);
    if (!parsed.ok) throw new Error(`${file} has problems`);
    const { fleet } = parsed;
    const clusters = [...fleet.rollouts.clusters, { ...DEFAULT_ROLLOUT_POLICY, clusters: ['*'] }];
    const most = { hub: { ...fleet.hub, webhook: true }, rollouts: { ...fleet.rollouts, clusters } };
    const { hub, spokes } = stacksOf({ ...fleet, ...most });
    const actions = new Set([hub, ...spokes].flatMap((stack) => actionsIn(Template.fromStack(stack))));
    expect(actions.size).toBeGreaterThan(10);
    const documented = section('Permissions in AWS');
    expect([...actions].filter((action) => !documented.includes(`\`${action}\``))).toEqual([]);
  });

  it('has each threat and each actor once, and no other', () => {
    const titles = [...(section('Threats') + section('Who can do what')).matchAll(/^(?:-|\|) \*\*(.+?)\*\*/gms)].map(
      ([, title = '']) => title.replaceAll(/\s+/g, ' '),
    );
    const known = Object.keys(TESTS);
    expect(titles.map((title) => known.filter((key) => title.startsWith(key)))).toEqual(known.map((key) => [key]));
  });

  it.each(Object.entries(TESTS))('%s: its tests exist', (_, tests) => {
    expect(tests.length).toBeGreaterThan(0);
    expect(tests.filter((path) => !existsSync(`${ROOT}/test/${path}`))).toEqual([]);
  });
});
