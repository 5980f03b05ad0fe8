import type { AuditContext, AuditSource, SourceObservations } from '../../../../lambdas/audit/audit-source.ts';
import type { EksAuditReader } from '../../../../lambdas/aws/eks-audit.ts';
import type { MemberObservation, MemberRole } from '../../../../lambdas/contracts/observation.ts';
import {
  type Answers,
  contextOf,
  expectHarmless,
  type FakeClient,
  fakeClient,
  type Surroundings,
  TOLD,
} from './fake-cluster.ts';

export const NAMESPACE = 'eksa-system';
export const VERSIONS = ['v1beta2', 'v1beta1'] as const;

/** Discovery of the groups of Cluster API, as a server that serves just this version answers. */
export function serving(version: string): Answers {
  const groups = ['cluster', 'bootstrap.cluster', 'controlplane.cluster'].map((group) => `/apis/${group}.x-k8s.io`);
  return Object.fromEntries(groups.map((path) => [path, { kind: 'APIGroup', versions: [{ version }] }]));
}

export interface ManagedRead extends SourceObservations {
  readonly client: FakeClient;
}

/** Reads one source of a management cluster that has the Machines in one namespace. */
export async function observeManaged(
  source: AuditSource,
  answers: Answers,
  surroundings: Surroundings & {
    readonly namespace?: string | undefined;
    readonly eksAnywhereNamespace?: string;
    readonly endpoint?: string;
  } = {},
): Promise<ManagedRead> {
  const client = fakeClient(answers);
  const { endpoint, eksAnywhereNamespace, namespace = NAMESPACE } = surroundings;
  const context = contextOf(fakeClient({}), surroundings);
  const { target } = context;
  const read = await source.observe({
    ...context,
    target: {
      ...target,
      cluster: { ...target.cluster, ...(endpoint === undefined ? {} : { endpoints: [endpoint] }) },
      management: client,
      machinesNamespace: namespace,
      ...(eksAnywhereNamespace === undefined ? {} : { eksAnywhereNamespace }),
    },
  });
  for (const observation of read.observations) expectHarmless(observation);
  return { ...read, client };
}

/** For sources that ask EKS. What is not given throws. */
export function eksContext(eks: Partial<EksAuditReader>): AuditContext {
  const unasked = async (): Promise<never> => {
    throw new Error('not to be asked');
  };
  const context = contextOf(fakeClient({}), { provider: 'eks' });
  const turn = async () => undefined;
  const reader = { turn, certificateAuthority: unasked, authorities: unasked, ...eks };
  return { ...context, target: { ...context.target, eks: reader } };
}

/** A Machine that the first stage found. */
export function machineMember(name: string, role: MemberRole, node?: string): MemberObservation {
  return {
    kind: 'member',
    source: 'machines',
    ...TOLD,
    role,
    name: `Machine ${NAMESPACE}/${name}`,
    ...(node === undefined ? {} : { node }),
    createdAt: '2026-03-01T00:00:00.000Z',
    addresses: [],
  };
}
