import { OPT_IN, OPT_IN_ANNOTATION } from '../../resources/annotations.ts';
import type { CheckQuestion } from '../checks.ts';
import { NAME_IT, namespacesOf } from '../eks-anywhere-owner.ts';
import {
  CONTROL_PLANES,
  EKS_ANYWHERE_CLUSTERS,
  fails,
  kubectl,
  objectOf,
  passes,
  type Verdict,
  verdictOf,
} from './verdict.ts';

/** The operator of certmarshal agrees. */
export function optedInByFleet({ policy, observed }: CheckQuestion): Verdict {
  if (policy !== undefined) return passes('fleet.yaml has an entry for it');
  return fails({
    found: 'no entry of rollouts.clusters in fleet.yaml matches it',
    remedy: `Add an entry to rollouts.clusters of fleet.yaml that names ${observed.cluster.id}, with what you vouch for in accepted, and deploy`,
  });
}

/**
 * The owner of the cluster agrees, on either object, and on neither forbids it. Of a contested Cluster of EKS Anywhere
 * only a ban counts.
 */
export function optedInByOwner({ observed: { eksAnywhere, controlPlane, cluster } }: CheckQuestion): Verdict {
  const contested = eksAnywhere?.contested;
  const mode = contested !== undefined && eksAnywhere?.mode === OPT_IN ? undefined : eksAnywhere?.mode;
  const said = [
    ...(eksAnywhere === undefined || mode === undefined
      ? []
      : [{ object: objectOf('Cluster', eksAnywhere), mode, isEksAnywhere: true }]),
    ...(controlPlane?.mode === undefined
      ? []
      : [{ object: objectOf('KubeadmControlPlane', controlPlane), mode: controlPlane.mode, isEksAnywhere: false }]),
  ];
  const other = said.find((one) => one.mode !== OPT_IN);
  const [first] = said;
  if (first !== undefined && other === undefined) return passes(`${OPT_IN_ANNOTATION} is ${OPT_IN}`, first.object);
  const annotate = `${OPT_IN_ANNOTATION}=${OPT_IN} --overwrite`;
  const ofControlPlane = kubectl(
    'annotate',
    CONTROL_PLANES,
    controlPlane ?? { namespace: '', name: cluster.name },
    annotate,
  );
  const found =
    other === undefined
      ? `no annotation ${OPT_IN_ANNOTATION}`
      : `${OPT_IN_ANNOTATION} is "${other.mode}", not "${OPT_IN}"`;
  if (eksAnywhere === undefined || other?.isEksAnywhere === false)
    return fails({ object: other?.object, found, remedy: `The owner of the cluster agrees with: ${ofControlPlane}` });
  if (contested === undefined) {
    const command = kubectl('annotate', EKS_ANYWHERE_CLUSTERS, eksAnywhere, annotate);
    return fails({
      object: other?.object,
      found,
      remedy: `The owner of the cluster agrees with: ${command}; where Flux writes that Cluster, with a commit, because Flux removes what kubectl wrote`,
    });
  }
  const namesakes = namespacesOf(contested.map((namespace) => ({ namespace })));
  const untilThen = other === undefined ? `; until then the owner of the cluster agrees with: ${ofControlPlane}` : '';
  return fails({
    object: other?.object,
    found: `${found}${other === undefined ? ' that counts' : ''}: Clusters of EKS Anywhere in ${namesakes} have the name, and fleet.yaml does not say which one is the owner's`,
    remedy: `${NAME_IT}, and deploy${untilThen}`,
  });
}

/** Nothing is planned from incomplete data. */
export function everythingRead({ observed: { unread } }: CheckQuestion): Verdict {
  const [first] = unread;
  return verdictOf(
    unread.map(({ object, message }, index) => (index === 0 ? message : `${object}: ${message}`)),
    { object: first?.object, good: 'everything that it depends on was read', remedy: first?.remedy ?? '' },
  );
}
