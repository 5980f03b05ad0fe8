import { DEFAULT_LANE } from '../../../lambdas/config/fleet.ts';
import { ordersOf } from '../../../lambdas/fleet/state-keys.ts';
import { AwsFault } from '../aws/aws-fault.ts';
import { kubeconfigOf } from '../kubeconfig.ts';
import { addWorkloadCluster, type HubEksCluster } from './clusters.ts';
import { DUBLIN, FRANKFURT, HUB, SPOKE, SPOKE_ROLE, SWEEP_ROLE } from './places.ts';
import { fleetFile, IDS, MINUTE, START, type World, type WorldClusterName, type WorldOptions } from './world.ts';

/** What somebody gets wrong, and what certmarshal has to say about it. */
export interface BadInput {
  readonly name: string;
  /** Clusters whose own results may differ; those of all others must not. */
  readonly concerns: readonly WorldClusterName[];
  /** Done after the fourth minute. */
  readonly spoil: (world: World) => void;
  /** Of the world from its beginning on. */
  readonly options?: () => WorldOptions;
  /** How much later it is looked at. @default 8 */
  readonly minutes?: 10;
  /** All findings there are then. */
  readonly findings: readonly ExpectedFinding[];
  /** Whether it happened at all, where nothing is found because nothing is to be done. */
  readonly happened?: (world: World) => boolean;
}

export interface ExpectedFinding {
  /** Id of a cluster, or `hub`. */
  readonly of: string;
  readonly kind: string;
  /** Part of it. */
  readonly object: string;
  /** Part of what is to be done. */
  readonly remedy: string;
}

const [IN_FRANKFURT, IN_DUBLIN] = [FRANKFURT, DUBLIN].map(({ account, region }) => `${account}/${region}`);
const EKS_SOURCES = [`${HUB.account}/${HUB.region}`, `${IN_FRANKFURT}`, `${IN_DUBLIN}`];

function finding(of: string, kind: string, object: string, remedy: string): ExpectedFinding {
  return { of, kind, object, remedy };
}

function behindOneServer(name: WorldClusterName): readonly ExpectedFinding[] {
  return [
    finding('hub', 'same-server', `cluster ${IDS[name]}`, 'fix the kubeconfig that leads to the wrong one'),
    finding(IDS[name], 'held', `cluster ${IDS[name]}`, 'Every decision is made, and none is written'),
  ];
}

/** Describes a cluster otherwise in EKS; known clusters learn of it when their source is read again. */
function redescribe({ aws }: World, { place, described }: HubEksCluster, changed: Partial<HubEksCluster['described']>) {
  aws.eks.putCluster(place, { ...described, ...changed });
}

/** Another text in the secret of berlin, and functions that have not read the old one. */
function berlinSecret(text: (world: World) => string): BadInput['spoil'] {
  return (world) => {
    world.aws.secretsManager.putSecret(HUB, 'certmarshal/berlin', text(world));
    world.hub.restart();
  };
}

/** Other orders than plan wrote in a minute. */
function readingOrders(tick: number, change: (text: string) => string): WorldOptions['aroundState'] {
  return (state) => ({
    ...state,
    async get(key, signal) {
      const stored = await state.get(key, signal);
      if (stored === undefined || !key.startsWith(ordersOf(DEFAULT_LANE, tick))) return stored;
      return { ...stored, value: JSON.parse(change(JSON.stringify(stored.value))) };
    },
  });
}

const berlinKubeconfig = ({ clusters: { berlin } }: World): string => kubeconfigOf(berlin.server, 'certmarshal');

/** Every line of what can be wrong from outside, each in a fleet where all else is well. */
export const BAD_INPUT: readonly BadInput[] = [
  {
    name: 'the session of a role expired',
    concerns: ['oslo', 'lisbon'],
    spoil: ({ aws }) => aws.identity.expireSessions(SPOKE_ROLE),
    findings: [
      finding('hub', 'expired', `eks:ListClusters in ${IN_FRANKFURT}`, 'Renew the credentials'),
      finding('hub', 'expired', `eks:ListClusters in ${IN_DUBLIN}`, 'Renew the credentials'),
      finding(IDS.oslo, 'evidence', 'evidence ec2', 'Renew the credentials'),
      finding(IDS.lisbon, 'evidence', 'evidence ec2', 'Renew the credentials'),
    ],
  },
  {
    name: 'a role was deleted',
    concerns: ['oslo', 'lisbon'],
    spoil: ({ aws, hub }) => {
      aws.identity.removeRole(SPOKE_ROLE);
      hub.restart();
    },
    findings: [
      finding('hub', 'denied', `${SPOKE_ROLE} in ${FRANKFURT.region}`, `Deploy the spoke stack in account ${SPOKE}`),
      finding('hub', 'denied', `${SPOKE_ROLE} in ${DUBLIN.region}`, `Deploy the spoke stack in account ${SPOKE}`),
      finding(IDS.oslo, 'evidence', 'evidence ec2', `Deploy the spoke stack in account ${SPOKE}`),
      finding(IDS.lisbon, 'evidence', 'evidence ec2', `Deploy the spoke stack in account ${SPOKE}`),
    ],
  },
  {
    name: 'a role was deleted while its session is in use',
    concerns: ['oslo', 'lisbon'],
    spoil: ({ aws }) => aws.identity.removeRole(SPOKE_ROLE),
    findings: [
      finding('hub', 'region', `eks:ListClusters in ${IN_FRANKFURT}`, 'renew the credentials'),
      finding('hub', 'region', `eks:ListClusters in ${IN_DUBLIN}`, 'renew the credentials'),
      finding(IDS.oslo, 'evidence', 'evidence ec2', 'renew the credentials'),
      finding(IDS.lisbon, 'evidence', 'evidence ec2', 'renew the credentials'),
    ],
  },
  {
    name: 'the access entry of a cluster is missing',
    concerns: ['oslo'],
    spoil: ({ clusters: { oslo } }) => oslo.accessEntries.delete(SWEEP_ROLE),
    findings: [
      finding(
        IDS.oslo,
        'unauthorized',
        'list certificatesigningrequests',
        `aws eks create-access-entry --cluster-name oslo --region ${FRANKFURT.region} --principal-arn ${SWEEP_ROLE}`,
      ),
    ],
  },
  {
    name: 'EKS names a CA bundle that is not that of the endpoint',
    concerns: ['oslo'],
    spoil: (world) => {
      const { oslo, zurich } = world.clusters;
      redescribe(world, oslo, { certificateAuthority: `${zurich.described.certificateAuthority}` });
    },
    findings: [
      finding(IDS.oslo, 'certificate', 'list certificatesigningrequests', 'something else answers at its address'),
    ],
  },
  {
    name: 'a kubeconfig has the CA of another cluster',
    concerns: ['berlin'],
    spoil: berlinSecret((world) =>
      berlinKubeconfig(world).replace(/certificate-authority-data: .+(\n {6}.+)*/, () => {
        const ca = Buffer.from(world.clusters.paris.server.caPem).toString('base64');
        return `certificate-authority-data: ${ca}`;
      }),
    ),
    findings: [
      finding('berlin', 'certificate', 'list certificatesigningrequests', 'read the current bundle of the cluster'),
    ],
  },
  {
    // A token is for one cluster only, so the other one lets no one in, and is not held for it.
    name: 'the endpoint of an EKS cluster is that of another one',
    concerns: ['oslo'],
    // The discovery finds it in the eleventh minute, a sweep goes there in the twelfth.
    minutes: 10,
    spoil: (world) => {
      const { endpoint = '', certificateAuthority = '' } = world.clusters.lisbon.described;
      redescribe(world, world.clusters.oslo, { endpoint, certificateAuthority });
    },
    findings: [finding(IDS.oslo, 'unauthorized', 'list certificatesigningrequests', '--cluster-name oslo')],
  },
  {
    name: 'a kubeconfig leads to another cluster',
    concerns: ['berlin', 'paris'],
    spoil: berlinSecret(({ clusters: { paris } }) => kubeconfigOf(paris.server, 'certmarshal')),
    findings: [
      finding('berlin', 'evidence', 'evidence machine', 'Write name and namespace of its Cluster'),
      ...(['berlin', 'paris'] as const).flatMap(behindOneServer),
    ],
  },
  {
    name: 'the endpoint of a cluster is private, and no lane is there',
    concerns: ['oslo'],
    spoil: (world) =>
      redescribe(world, world.clusters.oslo, { endpointPublicAccess: false, vpcId: 'vpc-0a1b2c3d4e5f60718' }),
    findings: [finding('hub', 'lane', IDS.oslo, 'Add a lane to fleet.yaml with vpcId: vpc-0a1b2c3d4e5f60718')],
  },
  {
    name: 'a kubeconfig runs a command',
    concerns: ['berlin'],
    spoil: berlinSecret((world) =>
      berlinKubeconfig(world).replace(
        /token: .+/,
        'exec: { apiVersion: client.authentication.k8s.io/v1, command: aws }',
      ),
    ),
    findings: [finding('berlin', 'kubeconfig', 'certmarshal/berlin', 'Fix the secret')],
  },
  {
    name: 'a secret is neither JSON nor YAML',
    concerns: ['berlin'],
    spoil: berlinSecret(() => '{"apiVersion": "v1", "clusters": ['),
    findings: [finding('berlin', 'kubeconfig', 'certmarshal/berlin', 'Fix the secret')],
  },
  {
    name: 'somebody makes a Cluster in a namespace that fleet.yaml does not name',
    concerns: ['rome'],
    spoil: ({ clusters: { rome } }) => addWorkloadCluster(rome, 'venice', 'other'),
    findings: [],
    happened: ({ clusters: { rome } }) =>
      rome.server.api.clusters?.all().some(({ metadata }) => metadata.namespace === 'other') === true,
  },
  {
    name: 'two workload clusters have one name',
    concerns: ['rome'],
    options: () => ({
      fleetFile: (clusters) =>
        fleetFile(clusters).replace('workloadClusters:', '$&\n      namespaces: [eksa-system, other]'),
    }),
    spoil: ({ clusters: { rome } }) => addWorkloadCluster(rome, 'venice', 'other'),
    findings: [
      finding('hub', 'credentials', IDS.venice, 'list each of them under clusters in fleet.yaml with an id of its own'),
      finding('hub', 'credentials', 'rome/other/venice', 'list each of them under clusters in fleet.yaml'),
    ],
  },
  {
    name: 'an account is listed twice, once as self',
    concerns: [],
    options: () => ({
      fleetFile: (clusters) => fleetFile(clusters).replace('accounts: [self]', `accounts: [self, '${HUB.account}']`),
    }),
    spoil: () => undefined,
    findings: [finding('hub', 'repeated', `eks ${HUB.account}/${HUB.region}`, `self is account ${HUB.account}`)],
  },
  {
    name: 'a Region is disabled',
    concerns: ['lisbon'],
    spoil: ({ aws }) => void aws.disableRegion(DUBLIN),
    findings: [
      finding('hub', 'region', `eks:ListClusters in ${IN_DUBLIN}`, 'Enable the Region in that account'),
      finding(IDS.lisbon, 'evidence', 'evidence ec2', 'Enable the Region in that account'),
    ],
  },
  {
    name: 'AWS throttles without end',
    concerns: [],
    spoil: ({ aws }) => void aws.throttle('eks', { rate: 0, burst: 0 }),
    findings: EKS_SOURCES.map((source) =>
      finding('hub', 'throttled', `eks:ListClusters in ${source}`, 'find out what else calls this API'),
    ),
  },
  {
    name: 'an API server throttles without end',
    concerns: ['berlin'],
    spoil: ({ clusters: { berlin } }) =>
      void berlin.server.inject({ fault: { kind: 'status', code: 429 }, path: /certificatesigningrequests\?/ }),
    findings: [finding('berlin', 'throttled', 'list certificatesigningrequests', 'FlowSchema')],
  },
  {
    name: 'every sweep runs twice at once',
    concerns: [],
    options: () => ({
      aroundCall: async (name, call) =>
        name === 'sweep' ? Promise.all([call(), call()]).then(([one]) => one) : call(),
    }),
    spoil: () => undefined,
    findings: [],
  },
  {
    name: 'an order cannot be read',
    concerns: ['berlin'],
    options: () => ({
      aroundState: readingOrders(START + 11 * MINUTE, (text) =>
        text.replace(/"id":"berlin","facts":\{[^}]*\}/, '"id":"berlin","facts":7'),
      ),
    }),
    spoil: () => undefined,
    findings: [finding('berlin', 'order', 'cluster berlin', 'deploy all functions together')],
  },
  {
    name: 'the clock of the hub is 10 minutes behind that of AWS',
    concerns: [],
    spoil: ({ aws, clock }) => {
      clock.sleep(6 * MINUTE - 1).then(
        () => void (aws.skewMs = 10 * MINUTE),
        () => undefined,
      );
    },
    // The SDK corrects the time of its signatures by the answer.
    findings: [],
    happened: ({ aws }) => aws.calls.some(({ code }) => /Skew|InvalidSignature/.test(code ?? '')),
  },
  {
    name: 'the clock of an API server is 10 minutes ahead',
    concerns: ['berlin'],
    spoil: ({ clusters: { berlin } }) => void (berlin.server.skewMs = 10 * MINUTE),
    findings: [finding('berlin', 'clock', 'API server', 'NTP on the control plane')],
  },
  {
    name: 'the clock of an API server is 10 minutes behind',
    concerns: ['berlin'],
    spoil: ({ clusters: { berlin } }) => void (berlin.server.skewMs = -10 * MINUTE),
    findings: [finding('berlin', 'clock', 'API server', 'NTP on the control plane')],
  },
  {
    name: 'somebody else writes to the bucket at the same time',
    concerns: [],
    spoil: ({ aws }) =>
      void aws.fail('s3:PutObject', new AwsFault(412, 'PreconditionFailed', 'At least one did not hold'), 4),
    findings: [],
    happened: ({ aws }) => aws.calls.filter(({ code }) => code === 'PreconditionFailed').length === 4,
  },
];
