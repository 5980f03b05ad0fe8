import { printable } from '../printable.ts';
import { OPT_IN_ANNOTATION } from './annotations.ts';
import { field, list, text } from './fields.ts';
import {
  annotation,
  type Condition,
  conditionsAt,
  countAt,
  isDeleting,
  MISSING,
  nameAt,
  timeAt,
  wordsAt,
} from './values.ts';

/** Unlike that of Cluster API, its value must be "true". Source: EKS Anywhere, `Cluster.IsReconcilePaused`. */
const PAUSED = 'anywhere.eks.amazonaws.com/paused';
const MAX_NAME = 253;

/** A `Cluster` of EKS Anywhere, v1alpha1. */
export interface EksAnywhereCluster {
  readonly namespace: string;
  readonly name: string;
  readonly createdAt?: number;
  readonly deleting: boolean;
  /** The annotation `anywhere.eks.amazonaws.com/paused` is "true". */
  readonly paused: boolean;
  /** Value of `OPT_IN_ANNOTATION`. */
  readonly mode?: string;
  readonly ready: Condition;
  /** 0 if absent, which no observed one is. */
  readonly generation: number;
  readonly observedGeneration?: number;
  readonly reconciledGeneration?: number;
  readonly failureMessage?: string;
  /** Kind of `spec.datacenterRef`. */
  readonly datacenter?: string;
}

/** Undefined without name and namespace. Never throws. */
export function readEksAnywhere(object: unknown): EksAnywhereCluster | undefined {
  const namespace = nameAt(object, 'metadata', 'namespace');
  const name = nameAt(object, 'metadata', 'name');
  if (namespace === undefined || name === undefined) return undefined;
  const mode = annotation(object, OPT_IN_ANNOTATION);
  return {
    namespace,
    name,
    createdAt: timeAt(object, 'metadata', 'creationTimestamp'),
    deleting: isDeleting(object),
    paused: annotation(object, PAUSED) === 'true',
    mode: mode === undefined ? undefined : printable(mode),
    ready: conditionsAt(object, 'status', 'conditions').get('Ready') ?? MISSING,
    generation: countAt(object, 'metadata', 'generation') ?? 0,
    observedGeneration: countAt(object, 'status', 'observedGeneration'),
    reconciledGeneration: countAt(object, 'status', 'reconciledGeneration'),
    failureMessage: wordsAt(object, 'status', 'failureMessage'),
    datacenter: nameAt(object, 'spec', 'datacenterRef', 'kind'),
  };
}

const MAX_BUNDLES = 16;

/**
 * PEM that machines trust, vCenter with the SHA-1 of its certificate, and the objects that a Cluster names, which may
 * have more; of any kind. Never throws. Source: EKS Anywhere, pkg/api/v1alpha1.
 */
export function readMachineTrust(object: unknown) {
  const [kind = 'Cluster', namespace, name] = [['kind'], ['metadata', 'namespace'], ['metadata', 'name']].map((path) =>
    text(object, ...path),
  );
  const certBundles = list(object, 'spec', 'hostOSConfiguration', 'certBundles').slice(0, MAX_BUNDLES);
  const found = [
    ['registryMirrorConfiguration.caCertContent', text(object, 'spec', 'registryMirrorConfiguration', 'caCertContent')],
    ['additionalTrustBundle', text(object, 'spec', 'additionalTrustBundle')],
    ...certBundles.map((one, index) => [`hostOSConfiguration.certBundles[${index}]`, text(one, 'data')] as const),
  ] as const;
  const [server, thumbprint] = [nameAt(object, 'spec', 'server'), nameAt(object, 'spec', 'thumbprint')];
  return {
    bundles: found.flatMap(([path, pem]) =>
      pem ? [{ where: printable(`${kind} ${namespace}/${name} spec.${path}`, 600), pem }] : [],
    ),
    vcenter: server && thumbprint && field(object, 'spec', 'insecure') !== true ? [{ server, thumbprint }] : [],
    references: [
      field(object, 'spec', 'datacenterRef'),
      field(object, 'spec', 'controlPlaneConfiguration', 'machineGroupRef'),
      field(object, 'spec', 'externalEtcdConfiguration', 'machineGroupRef'),
    ].map((one) => ({ kind: text(one, 'kind') ?? '', name: text(one, 'name') ?? '' })),
  };
}

/** The result of EKS Anywhere's connections to the machines. Read only by an audit. */
export interface CertificateScan {
  /** `expiresInDays` as read, by Machine name. */
  readonly days: ReadonlyMap<string, unknown>;
  /** It scans, and omits unreachable machines, possibly all. Since 0.23. */
  readonly done: boolean;
  /** Newest write of the status. */
  readonly writtenAt?: number;
}

/** Never throws. */
export function readCertificateScan(object: unknown): CertificateScan {
  const days = list(object, 'status', 'clusterCertificateInfo').flatMap((entry) => {
    const machine = text(entry, 'machine');
    return machine === undefined || machine.length > MAX_NAME
      ? []
      : [[machine, field(entry, 'expiresInDays')] as const];
  });
  const [, major = '0', minor = '0'] = /^v(\d{1,3})\.(\d{1,3})\./.exec(text(object, 'spec', 'eksaVersion') ?? '') ?? [];
  let writtenAt: number | undefined;
  for (const entry of list(object, 'metadata', 'managedFields')) {
    const at = text(entry, 'subresource') === 'status' ? timeAt(entry, 'time') : undefined;
    if (at !== undefined) writtenAt = Math.max(writtenAt ?? at, at);
  }
  return {
    days: new Map(days),
    done: field(object, 'status', 'clusterCertificateInfo') != null || Number(major) > 0 || Number(minor) >= 23,
    writtenAt,
  };
}
