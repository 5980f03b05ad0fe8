import { FIELD_MANAGER, HOLD_ANNOTATION, PAUSED_ANNOTATION, ROLLOUT_ANNOTATION } from '../../resources/annotations.ts';
import type { ControlPlaneCondition } from '../../resources/kubeadm-control-plane.ts';
import { type Condition, shownCondition } from '../../resources/values.ts';
import { timestamp } from '../../time.ts';
import { counted, date } from '../../words.ts';
import type { CheckQuestion } from '../checks.ts';
import type { ObservedControlPlane } from '../observed.ts';
import { CONTROL_PLANES, fails, kubectl, objectOf, passes, type Verdict, verdictOf } from './verdict.ts';

type Check = (controlPlane: ObservedControlPlane, question: CheckQuestion) => Verdict | undefined;

/** A check of a control plane; `controlPlaneSettled` checks its existence. */
function of(check: Check): (question: CheckQuestion) => Verdict | undefined {
  return (question) =>
    question.observed.controlPlane === undefined ? undefined : check(question.observed.controlPlane, question);
}

const nameOf = (controlPlane: ObservedControlPlane): string => objectOf('KubeadmControlPlane', controlPlane);
const describe = (controlPlane: ObservedControlPlane): string => kubectl('describe', CONTROL_PLANES, controlPlane);

export const controlPlaneNotPaused = of((controlPlane) => {
  const { paused } = controlPlane;
  const by = paused ? ` = "${paused}"` : '';
  return verdictOf(paused === undefined ? [] : [`it is paused (${PAUSED_ANNOTATION}${by})`], {
    object: nameOf(controlPlane),
    good: 'it is not paused',
    remedy: paused?.startsWith(`${FIELD_MANAGER}/`)
      ? 'Let certmarshal rollout abort remove the pause, which is for external etcd'
      : `Ask who paused it, and why; then: ${kubectl('annotate', CONTROL_PLANES, controlPlane, `${PAUSED_ANNOTATION}-`)}`,
  });
});

export function controlPlaneSettled({ observed: { controlPlane, cluster } }: CheckQuestion): Verdict {
  if (controlPlane === undefined) {
    return fails({
      found: `there is no KubeadmControlPlane of ${cluster.name}`,
      remedy: `See which ones exist: kubectl get ${CONTROL_PLANES} -A --show-labels`,
    });
  }
  const { generation, observedGeneration, replicas, status, deleting } = controlPlane;
  const counts = [
    ['there', status.replicas],
    ['ready', status.ready],
    ['available', status.available],
    ['up to date', status.upToDate],
  ] as const;
  const wrong = [
    ...(deleting ? ['it is being deleted'] : []),
    ...(observedGeneration === generation
      ? []
      : [`generation ${generation} is not observed (${observedGeneration ?? 'none'})`]),
    ...(replicas > 0 ? [] : ['it asks for no machines']),
    ...counts.flatMap(([what, count]) =>
      count === replicas ? [] : [`${count ?? 'unknown'} of ${counted(replicas, 'machine')} ${what}`],
    ),
    ...notFalse(controlPlane, ['ScalingUp', 'ScalingDown', 'Deleting']),
  ];
  return verdictOf(wrong, {
    object: nameOf(controlPlane),
    good: `all ${counted(replicas, 'machine')} there, ready, available and up to date`,
    remedy: `Wait until it is settled: ${describe(controlPlane)}`,
  });
}

const isTrue = (type: ControlPlaneCondition, remedy: string): Check => {
  return (controlPlane) => {
    const condition = controlPlane.conditions[type];
    return verdictOf(condition.status === 'True' ? [] : [`${type} is ${shownCondition(condition)}`], {
      object: nameOf(controlPlane),
      good: `${type} is True`,
      remedy: `${remedy}: ${describe(controlPlane)}`,
    });
  };
};

export const controlPlaneCertificates = of(isTrue('CertificatesAvailable', 'Find out which of its Secrets is missing'));
export const controlPlaneHealthy = of(isTrue('ControlPlaneComponentsHealthy', 'Fix what the condition names'));
const etcdIsHealthy = isTrue('EtcdClusterHealthy', 'Fix the member that the condition names');
/** For stacked etcd: the control plane knows nothing about external etcd. */
export const etcdHealthy = of((controlPlane, question) =>
  controlPlane.etcd === 'stacked' ? etcdIsHealthy(controlPlane, question) : undefined,
);

export const notRollingAlready = of((controlPlane, { observed: { machines }, now }) => {
  const { rolloutAfter, mark } = controlPlane;
  const asked = rolloutAfter !== undefined && rolloutAfter <= now ? rolloutAfter : Number.NEGATIVE_INFINITY;
  const old = machines.filter(({ createdAt }) => createdAt < asked);
  const wrong = [
    ...notFalse(controlPlane, ['RollingOut']),
    ...(old.length === 0 ? [] : [`${counted(old.length, 'machine')} made before rollout.after = ${timestamp(asked)}`]),
    ...(mark === 'unreadable' ? [`${ROLLOUT_ANNOTATION} is not what certmarshal writes`] : []),
  ];
  return verdictOf(wrong, {
    object: nameOf(controlPlane),
    good: 'nothing rolls',
    remedy:
      mark === 'unreadable'
        ? `Ask who wrote it; then: ${kubectl('annotate', CONTROL_PLANES, controlPlane, `${ROLLOUT_ANNOTATION}-`)}`
        : `Let it finish: ${describe(controlPlane)}`,
  });
});

export const notRemediating = of((controlPlane) =>
  verdictOf(
    [
      ...notFalse(controlPlane, ['Remediating']),
      ...(controlPlane.remediating
        ? ['an unhealthy machine is being replaced (controlplane.cluster.x-k8s.io/remediation-in-progress)']
        : []),
    ],
    {
      object: nameOf(controlPlane),
      good: 'no machine is being remediated',
      remedy: `Let the remediation finish, never remove its annotation: ${describe(controlPlane)}`,
    },
  ),
);

/** With any other strategy machines keep their creation time, and the rollout never ends. */
export const rollingUpdate = of((controlPlane) => {
  const { strategy, inPlaceUpgrade } = controlPlane;
  return verdictOf(
    [
      ...(strategy === 'RollingUpdate'
        ? []
        : [`its rollout strategy is ${strategy ?? 'not known'}, not RollingUpdate`]),
      ...(inPlaceUpgrade ? ['it waits for an in-place upgrade'] : []),
    ],
    {
      object: nameOf(controlPlane),
      good: 'its machines are replaced one by one',
      remedy: `Finish the in-place upgrade, or renew by hand as the runbook says; see ${kubectl('get', CONTROL_PLANES, controlPlane, '-o yaml')}`,
    },
  );
});

export const noRolloutPlanned = of((controlPlane, { now }) => {
  const { rolloutAfter } = controlPlane;
  const planned = rolloutAfter !== undefined && rolloutAfter > now;
  return verdictOf(planned ? [`a rollout is planned at ${date(rolloutAfter)}`] : [], {
    object: nameOf(controlPlane),
    good: 'no other rollout is planned',
    remedy: `Ask who set rollout.after; wait for it, or remove it: ${kubectl('edit', CONTROL_PLANES, controlPlane)}`,
  });
});

export const noHold = of((controlPlane) => {
  const { hold } = controlPlane;
  if (hold === undefined) return passes('there is no hold on it', nameOf(controlPlane));
  return fails({
    object: nameOf(controlPlane),
    found:
      hold === 'unreadable'
        ? `${HOLD_ANNOTATION} is not what certmarshal writes`
        : `held since ${hold.at}: ${hold.message}`,
    remedy: `Fix what the hold names, then: ${kubectl('annotate', CONTROL_PLANES, controlPlane, `${HOLD_ANNOTATION}-`)}`,
  });
});

/** v1beta1 of an old Cluster API lacks some of them; its counts and annotations are used instead. */
function notFalse(
  { conditions, apiVersion }: ObservedControlPlane,
  types: readonly ControlPlaneCondition[],
): readonly string[] {
  const is = ({ status }: Condition): boolean =>
    status === 'False' || (status === 'Missing' && apiVersion === 'v1beta1');
  return types.flatMap((type) => (is(conditions[type]) ? [] : [`${type} is ${shownCondition(conditions[type])}`]));
}
