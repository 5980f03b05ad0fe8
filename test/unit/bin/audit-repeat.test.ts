import { describe, expect, it } from 'vitest';
import { asTyped, auditRepeat, nextOfFinding, typedCommands } from '../../../bin/commands/audit/repeat.ts';
import { findingOf } from '../words/samples.ts';

const GIVEN = auditRepeat({
  kubeconfig: 'berlin prod.yaml',
  context: 'berlin',
  managementKubeconfig: 'management.yaml',
  cluster: 'berlin-prod',
  policy: 'fleet.yaml',
  handshakes: false,
  secrets: true,
  kubeletMetrics: true,
  port: ['kubelet=10251'],
});

describe('a command as the user has to type it', () => {
  it.each([
    ['the runbook of a finding', 'certmarshal runbook recovery', 'npm run -s certmarshal -- runbook recovery'],
    ['a probe', 'certmarshal probe 10.0.1.31:2379', 'npm run -s certmarshal -- probe 10.0.1.31:2379'],
    [
      'kubectl, on the cluster that was audited',
      'kubectl --kubeconfig KUBECONFIG get apiservices',
      "kubectl --kubeconfig 'berlin prod.yaml' --context berlin get apiservices",
    ],
    [
      'kubectl, on its management cluster',
      'kubectl --kubeconfig MANAGEMENT get machines.cluster.x-k8s.io -A',
      'kubectl --kubeconfig management.yaml get machines.cluster.x-k8s.io -A',
    ],
    [
      'one Machine',
      'kubectl --kubeconfig MANAGEMENT -n eksa-system get machines.cluster.x-k8s.io berlin-0 -o yaml',
      'kubectl --kubeconfig management.yaml -n eksa-system get machines.cluster.x-k8s.io berlin-0 -o yaml',
    ],
    [
      'the plan of a rollout',
      'certmarshal rollout plan --kubeconfig KUBECONFIG --management-kubeconfig MANAGEMENT --cluster berlin-prod',
      "npm run -s certmarshal -- rollout plan --kubeconfig 'berlin prod.yaml' --context berlin --management-kubeconfig management.yaml --cluster berlin-prod",
    ],
    [
      'the explanation of a node',
      'certmarshal explain --node worker-3 --kubeconfig KUBECONFIG --cluster berlin-prod',
      "npm run -s certmarshal -- explain --node worker-3 --kubeconfig 'berlin prod.yaml' --context berlin --management-kubeconfig management.yaml --cluster berlin-prod --policy fleet.yaml --port kubelet=10251",
    ],
  ])('%s', (_, command, typed) => {
    expect(asTyped(command, 'npm run -s certmarshal --', GIVEN)).toBe(typed);
  });

  it('is the runbook of a finding, where the audit that was just done would be next', () => {
    const next = nextOfFinding(findingOf({ code: 'NotVisible' }), 'eks', 'certmarshal', GIVEN);
    expect(next).toBe(`certmarshal runbook not-visible${GIVEN.repeatNames}`);
  });

  it.each([
    [
      { kubeconfig: 'all', managementContext: 'mgmt' },
      'kubectl --kubeconfig all --context mgmt get',
      ' --kubeconfig all',
    ],
    [{ managementContext: 'mgmt' }, 'kubectl --context mgmt get', ''],
    [
      { managementKubeconfig: 'm', managementContext: 'mgmt' },
      'kubectl --kubeconfig m --context mgmt get',
      ' --management-kubeconfig m',
    ],
  ])('names the context of the management cluster: %j', (options, kubectl, files) => {
    const given = auditRepeat({ ...options, context: 'berlin' });
    const machines = 'kubectl --kubeconfig MANAGEMENT get machines.cluster.x-k8s.io -A';
    expect(asTyped(machines, 'certmarshal', given)).toContain(kubectl);
    const [own, management] = files.startsWith(' --m') ? ['', files] : [files, ''];
    expect(given.repeat).toBe(`${own} --context berlin${management} --management-context mgmt`);
  });

  it('names the context of each cluster on a page of contexts, quoted', () => {
    const contexts = ['admin@oslo', "it's $(oslo)"].map((context, index) => ({
      id: `oslo-${index}`,
      name: 'oslo',
      context,
      server: undefined,
      also: [],
    }));
    const typed = typedCommands(contexts, {
      program: 'npx certmarshal',
      kubeconfig: 'forty.yaml',
      policy: 'fleet.yaml',
      serviceCidr: ['10.96.0.0/12'],
    });
    const [first, second] = [{ id: 'oslo-0' }, { id: 'oslo-1' }];
    expect(typed('certmarshal explain csr-q77zt --kubeconfig KUBECONFIG --cluster oslo', first)).toBe(
      'npx certmarshal explain csr-q77zt --kubeconfig forty.yaml --context admin@oslo --policy fleet.yaml --service-cidr 10.96.0.0/12',
    );
    expect(typed('certmarshal doctor --fleet fleet.yaml --cluster oslo', first)).toBe(
      'npx certmarshal doctor --kubeconfig forty.yaml --context admin@oslo',
    );
    expect(typed('certmarshal audit --kubeconfig KUBECONFIG --cluster oslo --namespace x', second)).toBe(
      String.raw`npx certmarshal audit --kubeconfig forty.yaml --context 'it'\''s $(oslo)' --policy fleet.yaml`,
    );
    expect(typed('kubectl --kubeconfig KUBECONFIG get nodes -o wide', second)).toBe(
      String.raw`kubectl --kubeconfig forty.yaml --context 'it'\''s $(oslo)' get nodes -o wide`,
    );
    expect(typed('kubectl get nodes', { id: 'of an earlier audit' })).toBe('kubectl get nodes');
    expect(typed('certmarshal runbook recovery', first)).toBe('npx certmarshal runbook recovery');
  });

  it('leaves kubectl alone where nothing was said', () => {
    expect(asTyped('kubectl --kubeconfig KUBECONFIG get nodes', 'certmarshal', auditRepeat({}))).toBe(
      'kubectl get nodes',
    );
  });
});
