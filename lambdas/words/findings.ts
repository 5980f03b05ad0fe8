import { type CommandCluster, clusterCommand } from '../command.ts';
import type { CertificateFacts, Facts, Names, Statement } from '../contracts/facts.ts';
import type { ExpiryFinding } from '../contracts/finding.ts';
import type { MemberRole } from '../contracts/observation.ts';
import { EXPIRY_ANNOTATION } from '../resources/machine.ts';
import { CERTIFICATE_CLASSES, type CertificateClass } from '../tables/certificate-classes.ts';
import type { FindingCode } from '../tables/finding-codes.ts';
import { counted, date, firstOf, percent, span, timeOf } from '../words.ts';
import * as next from './next.ts';

/** The first says what is wrong; the others are details and advice. Empty ones are left out. */
type Parts = readonly (string | false | undefined)[];

/** A finding of a rule, or of an audit. */
export type Sayable<C extends FindingCode = FindingCode> = {
  readonly [K in C]: Pick<ExpiryFinding<K>, 'code' | 'severity' | 'what' | 'facts' | 'due'> & {
    readonly since?: string | undefined;
    readonly lastSeen?: string | undefined;
    readonly accepted?: ExpiryFinding['accepted'];
  };
}[C];
type OfCertificate = Pick<Sayable, 'what' | 'lastSeen'> & { readonly facts: CertificateFacts };

type Words<C extends FindingCode> = readonly [
  say: (finding: Sayable<C>, now: number) => Parts,
  next: next.Next<ExpiryFinding<C>>,
];

/** One sentence, without a full stop. Pure. @param now of the reader, milliseconds since the epoch */
export function messageOf(finding: Sayable, now: number): string {
  return partsOf(finding, now).join('; ');
}

/** The part of {@link messageOf} that says what is wrong. */
export function headlineOf(finding: Sayable, now: number): string {
  return partsOf(finding, now).slice(0, 1).join('');
}

function partsOf<C extends FindingCode>(finding: Sayable<C>, now: number): readonly string[] {
  const [say]: Words<C> = WORDS[finding.code];
  const { accepted } = finding;
  const parts = [...say(finding, now), accepted && `accepted until ${dayOf(accepted.until)}: ${accepted.reason}`];
  return parts.flatMap((part) => (part ? [part] : []));
}

/**
 * The next command about a finding, for a user who has a kubeconfig of the cluster. Pure.
 *
 * @param otherwise where only a new audit would say more
 */
export function nextOf<C extends FindingCode>(
  finding: ExpiryFinding<C>,
  cluster: CommandCluster,
  otherwise = clusterCommand('audit', cluster),
): string {
  const [, make]: Words<C> = WORDS[finding.code];
  return make(finding, cluster) ?? otherwise;
}

/** `the kube-apiserver certificate of berlin-cp-1`, `certificate 2 of the chain at 10.0.1.31:6443`. */
function nameOf({ what = 'endpoint', facts: { where, position = 0, member, isOfChain } }: OfCertificate): string {
  if (isOfChain) return `certificate ${position + 1} of the chain at ${where}`;
  const owner = member === undefined || position > 0 ? `at ${where}` : `of ${member}`;
  return `the ${CERTIFICATE_CLASSES[what].title} certificate ${position > 0 ? `(number ${position + 1}) ` : ''}${owner}`;
}

function listed({ first, count }: Names, shown = 3): string {
  return firstOf(first, shown, count);
}

const dayOf = (time: string): string => date(timeOf(time) ?? 0);

function ends(due: string | undefined, now: number): string {
  const at = timeOf(due) ?? now;
  return `${at > now ? `expires in ${span(at - now)}` : `expired ${span(now - at)} ago`}, on ${date(at)}`;
}

/** How old it is, if it was not seen now. */
function lastSeen({ lastSeen: at, facts }: OfCertificate, now: number): string | undefined {
  const time = timeOf(at);
  if (time === undefined) return undefined;
  return facts.source === 'signing-requests'
    ? `its request was last seen ${span(now - time)} ago`
    : `it was last seen ${span(now - time)} ago and cannot be checked now`;
}

const reason = (text: string | undefined): string => (text === undefined ? '' : `: ${text}`);

const also = (places: Names | undefined): string | undefined => places && `also at ${listed(places, 5)}`;

const ESTIMATES = {
  age: 'the age of its machine',
  run: 'another certificate of its machine',
  latest: 'the age of its Machine',
};

function basisOf({ basis, estimate = 'age' }: Facts<'CertificateExpired'>): string {
  if (basis === 'certificate') return '';
  if (basis !== 'inference') return `, according to ${basis === 'status' ? 'a status' : 'an annotation'}`;
  return estimate === 'latest'
    ? ' at the latest, estimated from the age of its Machine: neither its Node nor a certificate of that machine was seen'
    : `, estimated from ${ESTIMATES[estimate]}: the certificate itself was not seen`;
}

const STATED = {
  certificate: 'a certificate',
  status: 'the status',
  annotation: 'the annotation',
  inference: 'the age',
};

/** `the annotation (machines, Machine eksa-system/cp-1) says 2027-09-28`. */
function stated({ source, basis, where, notAfter }: Statement): string {
  return `${STATED[basis]} (${source}, ${where}) says ${dayOf(notAfter)}`;
}

function expiry(finding: Sayable<'CertificateExpired' | 'CertificateExpiring'>, now: number): Parts {
  const { due, facts } = finding;
  const isOver = (timeOf(due) ?? now) <= now;
  return [
    `${nameOf(finding)} ${ends(due, now)}${basisOf(facts)}${isOver ? reason(facts.effect) : ''}`,
    facts.renewalDue && `it should have been renewed on ${dayOf(facts.renewalDue)}`,
    facts.renewalFailure,
    !isOver && facts.effect && `then ${facts.effect}`,
    also(facts.alsoAt),
    lastSeen(finding, now),
  ];
}

function notYetValid(finding: Sayable<'CertificateNotYetValid'>, now: number): Parts {
  const { notBefore, notAfter, isNever, effect, alsoAt } = finding.facts;
  const name = nameOf(finding);
  const starts = dayOf(notBefore);
  const wait = Date.parse(notBefore) - now;
  return [
    isNever
      ? `${name} ends on ${dayOf(notAfter)}, before it begins on ${starts}, so it is never valid: issue it again${reason(effect)}`
      : `${name} is not valid before ${starts}${wait > 0 ? `, ${span(wait)} from now` : ''}`,
    !isNever && `clients refuse it until then${reason(effect)}`,
    also(alsoAt),
    lastSeen(finding, now),
  ];
}

function unknownExpiry(finding: Sayable<'ExpiryUnknown'>, now: number): Parts {
  const { what = 'endpoint', severity, facts } = finding;
  if (facts.of === 'members') {
    const { members, pending } = facts;
    const title = `it is unknown when the ${CERTIFICATE_CLASSES[what].title} certificate of ${listed(members)} expires`;
    const has = `${pending === 1 ? 'has' : 'have'} a pending request`;
    if (pending === members.count) return [`${counted(pending, 'node')} ${has}`, title];
    return [title, pending > 0 && `${pending} of these ${has}`];
  }
  const { estimate = 'age', notAfter, renewed, lastAnswer } = facts;
  const at = timeOf(notAfter) ?? now;
  const ago = at <= now ? `, ${span(now - at)} ago` : '';
  const guess = `it is unknown when ${nameOf({ ...finding, facts })} expires: by ${ESTIMATES[estimate]} on ${date(at)}${ago}`;
  const answer =
    lastAnswer === undefined ? 'does not answer' : `last answered ${span(now - Date.parse(lastAnswer))} ago`;
  const but =
    renewed !== undefined
      ? `but ${stated(renewed)}: its machine was renewed in place, perhaps without it`
      : severity === 'warning'
        ? 'but the API server has answered since'
        : `and the API server ${answer}`;
  return [`${guess}, ${but}`, 'look at it on its machine', lastSeen({ ...finding, facts }, now)];
}

function staleAnnotation(finding: Sayable<'StaleAnnotation'>): Parts {
  const { what, facts } = finding;
  const { best, other } = facts;
  const isOfMachine = other.source === 'machines' && what !== 'kube-apiserver';
  return [
    `two sources disagree about when ${nameOf(finding)} expires: ${stated(best)}, ${stated(other)}`,
    other.basis === 'annotation' || other.source === 'machines'
      ? `delete the annotation ${EXPIRY_ANNOTATION} of the ${isOfMachine ? 'Machine' : 'KubeadmConfig, so that Cluster API reads the certificate again'}`
      : 'trust the first',
  ];
}

function authorityBounds(finding: Sayable<'AuthorityBoundsLeaves'>, now: number): Parts {
  const { cutShort, lifeMs = 0 } = finding.facts;
  const { count = 0 } = cutShort ?? {};
  const bound =
    cutShort === undefined
      ? `less than the ${span(lifeMs)} for which it usually signs`
      : `and so ${counted(count, 'certificate')} that it signed ${count === 1 ? 'is' : 'are'} cut short: ${listed(cutShort)}`;
  return [`${nameOf(finding)} ${ends(finding.due, now)}, ${bound}`];
}

function unknownIssuer({ facts }: Sayable<'IssuerUnknown'>, name: string): Parts {
  const { subject, isIssuedBefore, issuer = 'an unknown issuer' } = facts;
  if (subject !== undefined)
    return [`where ${name} should be, a server presents that of ${subject}: something else answers there`];
  return isIssuedBefore
    ? [
        `${name} is self-signed, but the earlier one was issued by the cluster: the kubelet lost serverTLSBootstrap, or something else answers in its place`,
      ]
    : [`${name} is not signed by a CA of the cluster`, `its issuer is ${issuer}`];
}

function successor({ due, facts }: Sayable<'SuccessorNotTrusted'>, now: number): Parts {
  const { nodes, createdAt, isActivating } = facts;
  const at = timeOf(due);
  const activation =
    at === undefined
      ? 'EKS gives no date for its activation'
      : at > now
        ? `EKS activates it in ${span(at - now)}, on ${date(at)}`
        : `EKS was due to activate it on ${date(at)}`;
  return [
    `${counted(nodes.count, 'Node')} (${listed(nodes)}) ${nodes.count === 1 ? 'was' : 'were'} made before or less than an hour after the successor of the cluster CA of ${dayOf(createdAt)}, and will lose the API server once it is active`,
    isActivating ? 'it is being activated now' : activation,
    'replace them, those of managed node groups with aws eks update-nodegroup-version',
  ];
}

const purposeOf = (what: CertificateClass | undefined): string => (what === 'kubelet-serving' ? 'serving' : 'client');

/** `*` is all further requesters together. */
function requestsOf({ requester, signer, count }: Facts<'RequestPending'>): string {
  return `${counted(count, 'request')} of ${requester === '*' ? 'further requesters' : requester} for ${signer}`;
}

function issued({ code, facts }: Sayable<'IssuedNamesAnother' | 'IssuedUnproven'>): Parts {
  const { node, where, commonName, notBefore, approvedBy, why = 'no reason is known', isAddress } = facts;
  const details = [
    `the certificate of ${node ?? where}`,
    commonName && `for ${commonName}`,
    notBefore && `issued ${notBefore.slice(0, 10)}`,
    approvedBy && `approved by ${approvedBy}`,
    code === 'IssuedNamesAnother' ? 'covers more than its node' : 'is not proven',
  ];
  return [
    `${details.filter(Boolean).join(', ')}: ${why}`,
    isAddress && 'if the next audit sees that too, it is critical',
  ];
}

type Unread = Sayable<'CertificateUnreadable' | 'SourceLost' | 'SourcePartial' | 'SourceUnread' | 'Unreachable'>;

function unread(finding: Unread, now: number): Parts {
  const { code, since, what, facts } = finding;
  const begin = timeOf(since) ?? now;
  switch (facts.of) {
    case 'certificate': {
      const name = nameOf({ ...finding, facts });
      const { refused } = facts;
      if (refused === undefined) return [`the expiry of ${name} is not a time`];
      const says = `Go programs, and so all of Kubernetes, refuse ${name}: ${refused}${reason(facts.effect)}`;
      return [says, also(facts.alsoAt), lastSeen({ ...finding, facts }, now)];
    }
    case 'source': {
      const { source, problem, message, remedy, isPartial, certificates } = facts;
      const long = code === 'SourceLost' ? ` for ${span(now - begin)}` : '';
      const verb = isPartial ? 'could be read only in part' : 'could not be read';
      return [
        `the source ${source} ${problem === undefined ? `was not checked${long}` : `${verb}${long} (${problem}: ${message})`}`,
        certificates > 0 &&
          `${counted(certificates, 'certificate')} seen there earlier still count${certificates === 1 ? 's' : ''}`,
        advice(remedy),
      ];
    }
    case 'places': {
      const { lost, remedy } = facts;
      return [
        `${unreadPlaces(code, facts, what)}${reason(facts.effect)}`,
        code === 'SourceLost' && `${lost} of them ${lost === 1 ? 'was' : 'were'} last seen over a day ago`,
        advice(remedy),
      ];
    }
    case 'evidence':
      return [
        `${counted(facts.certificates, 'kubelet certificate')} could not be judged, because evidence could not be read: ${facts.where}: ${facts.why}`,
        'explain --node says which, and how to make it readable',
      ];
    case 'findings':
      return [
        `${facts.count} more findings are not shown, ${facts.critical} of them critical and ${facts.workloads} about certificates of workloads`,
        'delete unused certificates, such as old TLS Secrets',
      ];
    case 'snapshot':
      return [
        `${facts.count} of ${counted(facts.all, 'observation')} do not fit in a snapshot, and are unknown while their source cannot be read`,
        'delete unused ones, such as old TLS Secrets and Certificates',
      ];
  }
}

type UnreadPlaces = Extract<Facts<'Unreachable'>, { readonly of: 'places' }>;

function unreadPlaces(
  code: FindingCode,
  { places, problems, message, source }: UnreadPlaces,
  what: CertificateClass | undefined,
): string {
  const thing = what === undefined ? '' : ` (${CERTIFICATE_CLASSES[what].title})`;
  const isOne = places.count === 1;
  const verb =
    code === 'CertificateUnreadable'
      ? `${isOne ? 'shows' : 'show'} no readable certificate`
      : code === 'SourcePartial'
        ? `${isOne ? 'is' : 'are'} left out`
        : source === 'tls'
          ? `${isOne ? 'does' : 'do'} not answer`
          : 'could not be read';
  return isOne
    ? `${listed(places)}${thing} ${verb} (${problems[0]?.problem}: ${message})`
    : `${places.count} places${thing} ${verb}: ${listed(places)} (${firstOf(problems.map(({ problem, count }) => `${count} ${problem}`))})`;
}

function advice(remedy = ''): string {
  return `${remedy.charAt(0).toLowerCase()}${remedy.slice(1)}`.replace(/\.$/, '');
}

function coverage({ facts }: Sayable<'CoverageShrunk'>): Parts {
  switch (facts.of) {
    case 'wanted': {
      const { role, count, wanted, groups } = facts;
      return [
        `${count} of ${counted(wanted, `${roleOf(role)} machine`)} that ${listed(groups)} wants ${count === 1 ? 'is' : 'are'} seen`,
      ];
    }
    case 'none':
      return [
        `there is no control plane machine among ${counted(facts.machines.count, 'Machine')} (${listed(facts.machines)})`,
        'all machines must be in the namespace that fleet.yaml names',
      ];
    case 'gone': {
      const { role, machines, left } = facts;
      const [was, is] = machines.count === 1 ? ['was', 'is'] : ['were', 'are'];
      return [
        `${listed(machines)} ${was} among the ${roleOf(role)} machines and ${is} not seen any more, and there is no new one`,
        `${counted(left, 'machine')} left`,
      ];
    }
  }
}

const roleOf = (role: MemberRole): string => (role === 'control-plane' ? 'control plane' : role);

function notVisible({ facts: { classes, off } }: Sayable<'NotVisible'>): Parts {
  const titles = classes.map((what) => CERTIFICATE_CLASSES[what].title);
  return [
    titles.length > 0 && `these certificates were not seen: ${firstOf(titles, 6)}`,
    off.length > 0 && `these sources are off: ${firstOf(off, 6)}`,
  ];
}

const are = (count: number): string => (count === 1 ? 'is' : 'are');

/** A sentence about a certificate that ends with how old it is, if it was not seen now. */
const about =
  <F extends OfCertificate>(parts: (finding: F, name: string, now: number) => Parts) =>
  (finding: F, now: number): Parts => [...parts(finding, nameOf(finding), now), lastSeen(finding, now)];

/** What is said about a finding of each code, and what to do next. */
const WORDS: { readonly [C in FindingCode]: Words<C> } = {
  CertificateExpired: [expiry, next.expired],
  CertificateExpiring: [expiry, next.renewal],
  CertificateNotYetValid: [notYetValid, next.probeIt],
  KubeletRenewalOverdue: [
    about(({ due, facts: { lifeMs } }, name, now) => [
      `${name} ${ends(due, now)}`,
      'the kubelet should have renewed it before 90 % of its lifetime',
      lifeMs !== undefined && `its issue date is not known, so a lifetime of ${span(lifeMs)} is assumed`,
    ]),
    next.kubeletRequests,
  ],
  AuthorityBoundsLeaves: [authorityBounds, next.probeIt],
  OutlivesIssuer: [
    about(({ due = '', facts: { notAfter, authority } }, name) => [
      `${name} expires on ${dayOf(notAfter)}, but its CA, ${authority}, expires earlier, on ${dayOf(due)}`,
    ]),
    next.probeIt,
  ],
  VeryLongLived: [
    about(({ facts: { lifeMs, notAfter } }, name) => [
      `${name} is valid for ${span(lifeMs)}, until ${dayOf(notAfter)}: its renewal will be forgotten`,
    ]),
    next.probeIt,
  ],

  WeakKey: [about(({ facts }, name) => [`the key of ${name} is too weak: ${facts.why}`]), next.probeIt],
  WeakSignature: [about(({ facts }, name) => [`the signature of ${name} is too weak: ${facts.why}`]), next.probeIt],
  IssuerUnknown: [about(unknownIssuer), next.probeIt],
  KubeletNameMismatch: [
    about(({ facts: { node, commonName = 'absent' } }, name) => [
      `the common name of ${name} is ${commonName}, not system:node:${node}, which API servers can be told to verify (KEP-4872)`,
    ]),
    next.probeIt,
  ],
  KubeletAddressMissing: [
    about(({ facts: { address } }, name) => [
      `${name} is not for ${address}, the first address of its Node: clients that verify it fail there, such as metrics-server without --kubelet-insecure-tls, and kubectl logs and exec through an API server with --kubelet-certificate-authority`,
    ]),
    next.probeIt,
  ],
  NameMismatch: [
    ({ facts: { where, name, names, isWithoutServerNames } }) => [
      `the certificate at ${where} is not for ${name}`,
      `it has ${names.count > 0 ? listed(names) : `no names${isWithoutServerNames ? ' of servers' : ''}`}`,
    ],
    next.probeIt,
  ],
  CertificateUnreadable: [unread, next.unread],

  StaleAnnotation: [
    staleAnnotation,
    () =>
      next.kubectl(
        `get kubeadmconfigs.bootstrap.cluster.x-k8s.io,machines.cluster.x-k8s.io -A -o 'custom-columns=KIND:.kind,NAMESPACE:.metadata.namespace,NAME:.metadata.name,EXPIRY:.metadata.annotations.${EXPIRY_ANNOTATION.replaceAll('.', String.raw`\.`)}'`,
        'MANAGEMENT',
      ),
  ],
  ExpiryUnknown: [unknownExpiry, next.unknownExpiry],
  ClockSkew: [
    ({ facts: { server, skewMs } }) => [
      `the clock of ${server} is at least ${Math.round(Math.abs(skewMs) / 1000)} s ${skewMs > 0 ? 'ahead of' : 'behind'} ours, so every expiry time is off by that much`,
    ],
    () => 'date -u; timedatectl timesync-status',
  ],

  SuccessorNotTrusted: [
    successor,
    () => next.kubectl('get nodes -L eks.amazonaws.com/nodegroup --sort-by=.metadata.creationTimestamp'),
  ],
  AuthorityDistributionFailed: [
    ({ facts: { id } }) => [`EKS could not distribute the CA ${id}, so nothing trusts it yet`],
    () => undefined,
  ],

  RenewalErrors: [
    ({ what, facts: { node, count = 0 } }) => [
      `the kubelet of ${node} failed to renew its ${purposeOf(what)} certificate ${counted(count, 'time')} since it started`,
    ],
    next.node,
  ],
  RotationUnusual: [
    ({ facts: { node, count = 0, share = 0 } }) => [
      `the kubelet of ${node} replaced its serving certificate ${counted(count, 'time')} since it started, on average at ${percent(share)} of its lifetime`,
      'normal is between 70 % and 90 %',
    ],
    next.node,
  ],
  NoValidCertificate: [
    ({ what, facts: { node } }) => [
      `the kubelet of ${node} reports that it has no valid ${purposeOf(what)} certificate`,
    ],
    next.node,
  ],

  RequestPending: [
    ({ facts }, now) => [
      `${requestsOf(facts)} ${are(facts.count)} pending, the oldest for ${span(now - Date.parse(facts.oldestAt))}`,
      'a kubelet gives up after 15 minutes',
    ],
    next.request,
  ],
  RequestNotIssued: [
    ({ facts }, now) => [
      `${requestsOf(facts)} ${are(facts.count)} approved but not issued, the oldest for ${span(now - Date.parse(facts.oldestAt))}`,
      'the signer does not run, or does not sign',
    ],
    next.request,
  ],
  SignerDoesNotIssue: [
    ({ facts: { nodes, isEks } }) => [
      `the signer issues nothing that certmarshal approves: ${counted(nodes, 'node')} without a certificate, and each sweep approves one request until it issues one`,
      isEks ? 'EKS seems to issue only what it can verify itself' : 'kube-controller-manager does not sign',
    ],
    next.request,
  ],
  RequestFailed: [({ facts }) => [`the signer failed ${requestsOf(facts)}${reason(facts.condition)}`], next.request],
  RequestDenied: [
    ({ facts }) => [
      `${requestsOf(facts)} were denied within an hour, and the requester asks again${reason(facts.condition)}`,
    ],
    next.request,
  ],
  RequestStorm: [
    ({ facts: { requester, count } }) =>
      requester === undefined
        ? [
            `there are ${count} requests in the cluster, which slows its API server and every controller that lists them`,
          ]
        : [`${requester} made ${count} requests within an hour`, 'a kubelet needs a few in months'],
    (_, cluster) => next.request({ facts: {} }, cluster),
  ],

  IssuedNamesAnother: [issued, next.explainNode],
  IssuedUnproven: [issued, next.explainNode],

  Acceptance: [
    ({ facts: { code, object, until, isUnused } }, now) => {
      const left = Date.parse(until) - now;
      const end = left > 0 ? `ends in ${span(left)}, on ${dayOf(until)}` : `ended on ${dayOf(until)}`;
      const of = object === undefined ? '' : ` of ${object}`;
      return [`audit.accept of ${code}${of} ${isUnused ? 'matches no finding: remove it' : end}`];
    },
    () => undefined,
  ],

  Unreachable: [unread, next.unread],
  SourceUnread: [unread, next.unread],
  SourceLost: [unread, next.unread],
  CoverageShrunk: [
    coverage,
    () => next.kubectl('get clusters.cluster.x-k8s.io,machines.cluster.x-k8s.io -A', 'MANAGEMENT'),
  ],
  SourcePartial: [unread, next.unread],
  NotVisible: [notVisible, () => undefined],
};
