import { randomBytes } from 'node:crypto';
import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { doctorLines } from '../../../bin/commands/doctor-view.ts';
import { connectAws } from '../../../bin/doctor/aws-calls.ts';
import { type CheckResult, type GroupResult, runGroup } from '../../../bin/doctor/check.ts';
import { fleetGroups } from '../../../bin/doctor/fleet-groups.ts';
import { draw } from '../../../bin/terminal/draw.ts';
import { DEFAULT_THRESHOLDS } from '../../../lambdas/audit/rules/thresholds.ts';
import { isEksEndpoint } from '../../../lambdas/aws/eks-endpoint.ts';
import { AwsError } from '../../../lambdas/aws/errors.ts';
import { parseFleet } from '../../../lambdas/config/load-fleet.ts';
import { createWebhookHandler } from '../../../lambdas/functions/handle-webhook.ts';
import { kubeconfigYaml } from '../../control-plane/kubeconfig.ts';
import { type SimulatedApiServer, startSimulatedApiServer } from '../../fleet/api-server.ts';
import { awsClientConfig } from '../../fleet/aws/aws-environment.ts';
import { type SimulatedAws, startSimulatedAws } from '../../fleet/aws/simulated-aws.ts';
import { fastClock } from '../../fleet/clock.ts';
import { isOnLoopback } from '../../fleet/loopback.ts';
import { type FunctionUrl, startFunctionUrl, type Trouble } from '../../support/function-url.ts';

const HUB = '111122223333';
const SPOKE = '222233334444';
const REGION = 'eu-central-1';
const SWEEP_ROLE = `arn:aws:iam::${HUB}:role/certmarshal-sweep`;
const SPOKE_ROLE = `arn:aws:iam::${SPOKE}:role/certmarshal-spoke`;
const NAME = 'certmarshal/berlin-prod';
/** Logical ids of the topics, as test/unit/lib/deployed-resources.json has them. */
const TOPIC_IDS = {
  alarms: 'TopicsAlarms8451E380',
  critical: 'TopicsCritical54F8F423',
  warning: 'TopicsWarning3952D1DF',
  pager: 'TopicsIncidents31400822',
  chat: 'TopicsChatF780730B',
  fallback: 'TopicsPagerC3BA336C',
};
const never = new AbortController().signal;
const NO_AWS = { kind: 'expired', object: 'sts:GetCallerIdentity', problem: 'none', remedy: 'Sign in.' } as const;

function fleetOf(text: string) {
  const parsed = parseFleet(text, 'fleet.yaml');
  if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems));
  return parsed.fleet;
}

const OPTIONS = {
  addresses: 'local' as const,
  isEksEndpoint: isOnLoopback,
  program: 'certmarshal',
  thresholds: DEFAULT_THRESHOLDS,
  now: Date.now,
};
const HUB_PLACE = { account: HUB, region: REGION };
const SPOKE_PLACE = { account: SPOKE, region: REGION };

const makeEntry = (role: string) =>
  `aws eks create-access-entry --cluster-name dublin --region ${REGION} --principal-arn ${role} --kubernetes-groups certmarshal`;

describe('certmarshal doctor of a fleet', () => {
  let aws: SimulatedAws;
  let cluster: SimulatedApiServer;
  let secret: string;
  let kubeconfig: string;

  beforeEach(async () => {
    const clock = fastClock(Date.now(), 1);
    aws = await startSimulatedAws({ clock });
    cluster = await startSimulatedApiServer({ clock, name: 'dublin', users: [{ name: 'certmarshal' }] });
    aws.identity.putRole({ arn: SPOKE_ROLE, trusts: [SWEEP_ROLE], externalId: 'certmarshal-demo' });
    aws.eks.putCluster(SPOKE_PLACE, eksCluster('dublin'));
    kubeconfig = kubeconfigYaml(cluster.server, cluster.caPem, 'certmarshal', {
      token: cluster.tokenFor('certmarshal'),
    });
    secret = aws.secretsManager.putSecret(HUB_PLACE, NAME, kubeconfig);
  });

  afterEach(async () => {
    await cluster.stop();
    await aws[Symbol.asyncDispose]();
  });

  function eksCluster(name: string) {
    return {
      name,
      endpoint: cluster.server,
      certificateAuthority: Buffer.from(cluster.caPem).toString('base64'),
      vpcId: 'vpc-0123456789abcdef0',
    };
  }

  interface Examination {
    readonly externalId?: string;
    readonly only?: string;
    /** Lines of fleet.yaml. */
    readonly hub?: string;
    /** Only the account of the credentials is discovered, and where the hub is is not said. */
    readonly alone?: boolean;
    /** @default the role of the sweep */
    readonly role?: string | undefined;
    readonly account?: string;
    readonly sweepRole?: string | undefined;
    /** Groups of the access entry. @default there is none */
    readonly entry?: readonly string[] | AwsError;
    /** Lines of fleet.yaml: of berlin-prod. */
    readonly berlin?: string;
    /** @default is on this machine */
    readonly pin?: typeof isEksEndpoint;
    /** Told of every token. */
    readonly signed?: (authenticatorId: string) => void;
  }

  async function examine({
    externalId = 'certmarshal-demo',
    only,
    hub = '',
    alone = false,
    entry,
    berlin = 'provider: eks-anywhere',
    pin = isOnLoopback,
    signed,
    ...given
  }: Examination = {}) {
    const { role, sweepRole, account = HUB } = { role: SWEEP_ROLE, sweepRole: SWEEP_ROLE, ...given };
    const place = `account: '${HUB}', region: ${REGION}`;
    const placed = alone || hub.includes('account: ') ? hub : `hub: { ${place} }\n${hub}`.replace(/ }\nhub: {/, ',');
    const fleet = fleetOf(`version: 1
${placed}
discovery:
  - accounts: ['${alone ? 'self' : SPOKE}']
    regions: [self]
    ${alone ? '' : `externalId: ${externalId}`}
clusters:
  - name: berlin-prod
    ${berlin}
    kubeconfigSecret: ${secret}
`);
    const { policies } = fleet;
    const options = { ...OPTIONS, isEksEndpoint: pin, policies, policyFile: 'fleet.yaml', only, sweepRole };
    const config = awsClientConfig(aws, { account, region: REGION, role });
    const groups = await fleetGroups(fleet, options, never, async () => {
      const connected = await connectAws(never, config);
      const signToken: typeof connected.signToken = async (id, region) => {
        signed?.(id);
        return connected.signToken(id, region);
      };
      const calls = { ...connected, signToken };
      if (entry === undefined) return calls;
      if (entry instanceof AwsError) return { ...calls, accessEntry: () => Promise.reject(entry) };
      return { ...calls, accessEntry: async () => ({ groups: entry, madeAt: new Date('2026-11-20T09:30:00Z') }) };
    });
    return Promise.all(groups.map((group) => runGroup(group, never)));
  }

  const SOURCE = `eks ${SPOKE}/${REGION}`;
  const DUBLIN = `${SPOKE}/${REGION}/dublin`;
  const found = (groups: readonly GroupResult[], subject: string, check: string): CheckResult => {
    const result = groups.find((group) => group.subject === subject)?.checks.find(({ id }) => id === check);
    if (result === undefined) throw new Error(`no ${check} of ${subject} in ${JSON.stringify(groups)}`);
    return result;
  };

  it('passes where everything is as it should be', async () => {
    const groups = await examine();
    expect(groups.map(({ subject }) => subject)).toEqual(['AWS credentials', SOURCE, 'berlin-prod', DUBLIN]);
    expect(found(groups, 'AWS credentials', 'aws-credentials')).toMatchObject({
      status: 'passed',
      found: `authenticated as arn:aws:sts::${HUB}:assumed-role/certmarshal-sweep/runtime`,
    });
    for (const check of ['region', 'assume-role', 'list-clusters', 'describe-cluster', 'describe-instances'])
      expect(found(groups, SOURCE, check)).toMatchObject({ status: 'passed' });
    for (const check of ['secret', 'kubeconfig', 'resolve', 'connect', 'ca-bundle', 'certificate', 'clock'])
      expect(found(groups, 'berlin-prod', check).status).toMatch(/passed|warning/);
    expect(found(groups, DUBLIN, 'token')).toMatchObject({ status: 'passed' });
  });

  const denied = (action: string, role: string) => () => aws.deny(action, { account: role.split(':')[4] ?? '', role });
  /** What an administrator does who pastes the command: nothing but what the command says. */
  const allowed = (name: string, action: string, resource: string) =>
    `aws iam put-role-policy --role-name ${name} --policy-name certmarshal-${action.replace(':', '-')} --policy-document '{"Version":"2012-10-17","Statement":[{"Effect":"Allow","Action":"${action}","Resource":"${resource}"}]}'`;

  const ofSpoke = (action: string, check: string) =>
    [
      `${action} is denied`,
      SOURCE,
      check,
      denied(action, SPOKE_ROLE),
      () => allowed('certmarshal-spoke', action, '*'),
    ] as const;

  it.each<readonly [broken: string, subject: string, check: string, breakIt: () => () => void, command: () => string]>([
    ofSpoke('eks:ListClusters', 'list-clusters'),
    ofSpoke('eks:DescribeCluster', 'describe-cluster'),
    ofSpoke('ec2:DescribeInstances', 'describe-instances'),
    [
      'the secret may not be read',
      'berlin-prod',
      'secret',
      denied('secretsmanager:GetSecretValue', SWEEP_ROLE),
      () => allowed('certmarshal-sweep', 'secretsmanager:GetSecretValue', secret),
    ],
    [
      'the Region is disabled',
      SOURCE,
      'region',
      () => aws.disableRegion(SPOKE_PLACE),
      () => `aws account enable-region --region-name ${REGION} --account-id ${SPOKE}`,
    ],
  ])('%s: %s, %s fails, and what its command does repairs it', async (_broken, subject, check, breakIt, command) => {
    const repair = breakIt();
    expect(found(await examine(), subject, check)).toMatchObject({ status: 'failed', fix: { command: command() } });
    repair();
    expect(found(await examine(), subject, check)).toMatchObject({ status: 'passed' });
  });

  it('finds a role that cannot be assumed, and skips what needs it', async () => {
    aws.identity.putRole({ arn: SPOKE_ROLE, trusts: [], externalId: 'certmarshal-demo' });
    const groups = await examine();
    const { status, fix } = found(groups, SOURCE, 'assume-role');
    expect(status).toBe('failed');
    expect(fix?.text).toContain('name the calling role');
    expect(fix?.command).toBe('aws iam get-role --role-name certmarshal-spoke --query Role.AssumeRolePolicyDocument');
    expect(found(groups, SOURCE, 'list-clusters')).toMatchObject({
      status: 'skipped',
      found: 'needs assume-role',
    });
    aws.identity.putRole({ arn: SPOKE_ROLE, trusts: [SWEEP_ROLE], externalId: 'certmarshal-demo' });
    expect(found(await examine(), SOURCE, 'assume-role').status).toBe('passed');
  });

  it('finds an ExternalId that is another one', async () => {
    expect(found(await examine({ externalId: 'another' }), SOURCE, 'assume-role')).toMatchObject({
      status: 'failed',
      fix: { text: expect.stringContaining('require the ExternalId of fleet.yaml') },
    });
  });

  it('finds that the access entry is missing', async () => {
    const expected = { status: 'failed', fix: { command: makeEntry(SWEEP_ROLE) } };
    expect(found(await examine(), DUBLIN, 'authentication')).toMatchObject(expected);
  });

  it('signs a token for the name of an EKS cluster only to a server of EKS', async () => {
    const tokens: string[] = [];
    const signed = (id: string) => tokens.push(id);
    const groups = await examine({
      berlin: 'provider: eks\n    authenticatorId: berlin',
      pin: isEksEndpoint,
      signed,
    });
    const message = `its endpoint ${cluster.server} is not an EKS endpoint in`;
    expect(found(groups, DUBLIN, 'token')).toMatchObject({
      status: 'failed',
      found: `${message} Region ${REGION}, so no token is signed for it`,
      fix: { text: expect.stringContaining('aws eks describe-cluster') },
    });
    expect(found(groups, 'berlin-prod', 'kubeconfig')).toMatchObject({
      status: 'failed',
      found: `${message} any Region, so no token is signed for it`,
    });
    expect(tokens).toEqual([]);
    // A UUID is of EKS Anywhere, which is where its owner says.
    await examine({
      berlin: 'provider: eks-anywhere\n    authenticatorId: 6b1f9c27-d0e8-4a35-9f00-1c2d3e4f5a6b',
      pin: isEksEndpoint,
      signed,
    });
    expect(tokens[0]).toBe('6b1f9c27-d0e8-4a35-9f00-1c2d3e4f5a6b');
  });

  it('finds a private endpoint without a lane', async () => {
    aws.eks.putCluster(SPOKE_PLACE, { ...eksCluster('dublin'), endpointPublicAccess: false });
    expect(found(await examine(), DUBLIN, 'lane')).toMatchObject({
      status: 'failed',
      fix: { text: expect.stringContaining('vpcId: vpc-0123456789abcdef0') },
    });
  });

  const allowList = { publicAccessCidrs: ['127.0.0.1/32'] };
  const LANE = `lanes:
  - name: frankfurt
    vpcId: vpc-0123456789abcdef0
    subnetIds: [subnet-0123456789abcdef0]
    securityGroupIds: [sg-0123456789abcdef0]
`;

  it('does not take an endpoint for reachable because this desk is on its allow list', async () => {
    aws.eks.putCluster(SPOKE_PLACE, { ...eksCluster('dublin'), ...allowList });
    const groups = await examine();
    expect(groups.find(({ subject }) => subject === DUBLIN)?.checks).toHaveLength(1);
    expect(found(groups, DUBLIN, 'lane')).toMatchObject({
      status: 'failed',
      found: expect.stringContaining('publicAccessCidrs'),
      fix: { text: expect.stringContaining('Elastic IP of the NAT gateway') },
    });
  });

  it('says which lane reaches what', async () => {
    aws.eks.putCluster(SPOKE_PLACE, { ...eksCluster('dublin'), ...allowList });
    aws.eks.putCluster(SPOKE_PLACE, eksCluster('oslo'));
    const notes = (await examine({ hub: LANE })).map(({ subject, note }) => [subject, note]);
    expect(Object.fromEntries(notes.slice(2))).toEqual({
      'berlin-prod': 'swept from lane default, outside of every VPC; tried from here',
      [DUBLIN]: 'swept from lane frankfurt, in vpc-0123456789abcdef0; tried from here',
      [DUBLIN.replace('dublin', 'oslo')]: 'swept from lane default, outside of every VPC; tried from here',
    });
  });

  const raise = `aws service-quotas request-service-quota-increase --service-code lambda --quota-code L-B99A9384 --desired-value 1000 --region ${REGION}`;

  const warned = (text: unknown) => ({ status: 'warning', found: text });
  const failedWith = (text: string) => ({ status: 'failed', found: expect.stringContaining(text) });

  it.each<[most: number, hub: string, expected: object]>([
    [1_000, '', { status: 'passed', found: '1000 at once' }],
    [43, '', { status: 'passed' }],
    [42, '', { status: 'warning', fix: { command: raise } }],
    [10, '', warned('10 at once for all functions of the account there, and the hub may take 43')],
    [43, LANE, { status: 'passed' }],
    [150, 'hub: { reservedConcurrency: 50 }', { status: 'passed' }],
    [149, 'hub: { reservedConcurrency: 50 }', { status: 'failed', fix: { command: raise } }],
    [10, 'hub: { reservedConcurrency: 2 }', failedWith('refuses')],
    [101, 'hub: { webhook: true }', failedWith('hub.webhook takes 2 of them')],
    [102, 'hub: { webhook: true }', { status: 'passed' }],
    [
      151,
      'hub: { webhook: true, reservedConcurrency: 50 }',
      failedWith('hub.reservedConcurrency with hub.webhook takes 52'),
    ],
  ])('reads how many functions may run at once: %i, with %j', async (most, hub, expected) => {
    aws.lambda.concurrency = most;
    expect(found(await examine({ hub }), 'AWS credentials', 'concurrency')).toMatchObject(expected);
  });

  it('may not read that quota, which is no failure', async () => {
    aws.deny('lambda:GetAccountSettings', { account: HUB, role: SWEEP_ROLE });
    expect(found(await examine(), 'AWS credentials', 'concurrency').status).toBe('warning');
  });

  it('reads nothing of the hub in another account, and says so', async () => {
    const groups = await examine({ hub: `hub: { account: '${SPOKE}', region: ${REGION} }` });
    expect(groups[0]?.checks.map(({ id, status }) => [id, status].join(' '))).toEqual([
      'aws-credentials passed',
      'subscriptions warning',
    ]);
  });

  // As CloudFormation names them: stack, logical id, a random part.
  const topic = (logicalId: string) => aws.sns.createTopic(HUB_PLACE, `CertMarshal-${logicalId}-AbCd12345678`);
  const SUBSCRIBE = {
    text: expect.stringContaining('monitoring.subscribe'),
    command: expect.stringContaining(`aws sns subscribe --region ${REGION} `),
  };
  const CRITICAL = { FilterPolicy: '{"severity":["critical"]}' };
  const [BY_CLUSTER, IN_BODY] = [
    { FilterPolicy: '{"severity":["critical","warning"],"cluster":["berlin-prod"]}' },
    { FilterPolicy: '{"severity":["critical","warning"]}', FilterPolicyScope: 'MessageBody' },
  ];
  const { critical, warning, pager, chat, fallback, alarms } = TOPIC_IDS;

  type Topics = readonly [id: string, state?: Parameters<SimulatedAws['sns']['subscribe']>[1]][];
  const PENDING = [critical, 'PendingConfirmation'] as const;

  /** Subscribers to every message: critical, warning, fallback and those who did not confirm. */
  it.each<[who: string, topics: Topics, status: string, counts: readonly [number, number, number, number]]>([
    ['no one', [], 'failed', [0, 0, 0, 0]],
    ['each topic', [[critical], [warning, { FilterPolicy: '{}' }], [fallback]], 'passed', [1, 1, 1, 0]],
    ['a pager for everything', [[pager], [fallback]], 'passed', [1, 1, 1, 0]],
    ['a chat, and no fallback', [[chat]], 'warning', [1, 1, 0, 0]],
    ['a pager for critical', [[pager, CRITICAL], [fallback]], 'failed', [1, 0, 1, 0]],
    ['someone who did not confirm', [[...PENDING], [warning], [fallback]], 'failed', [0, 1, 1, 1]],
    ['two, one of whom did not', [[...PENDING], [critical], [warning], [fallback]], 'warning', [1, 1, 1, 1]],
    ['a filter that drops what Lambda sends', [[critical, CRITICAL], [warning], [fallback]], 'failed', [0, 1, 1, 0]],
    ['filters for less than a severity', [[pager, BY_CLUSTER], [chat, IN_BODY], [fallback]], 'failed', [0, 0, 1, 0]],
  ])(
    'says whether someone is notified: %s',
    async (_, topics, status, [ofCritical, ofWarning, ofFallback, pending]) => {
      const counts = `critical ${ofCritical}, warning ${ofWarning}, fallback ${ofFallback}, unconfirmed ${pending}`;
      for (const [id, state] of [[alarms], ...topics] as typeof topics) aws.sns.subscribe(topic(id), state);
      aws.sns.subscribe(aws.sns.createTopic(HUB_PLACE, 'OtherStack-TopicsCritical54F8F423-x'));
      expect(found(await examine(), 'AWS credentials', 'subscriptions')).toMatchObject({
        status,
        found: `subscriptions to every message: ${counts}`,
        ...(status !== 'passed' && { fix: SUBSCRIBE }),
      });
    },
  );

  it.each<[why: string, prepare: () => void, said: string]>([
    ['before the first deploy', () => undefined, `no hub is deployed in ${REGION}`],
    [
      'without the right',
      () => aws.deny('sns:ListSubscriptions', { account: HUB, role: SWEEP_ROLE }),
      'ListSubscriptions',
    ],
  ])('does not fail %s', async (_, prepare, said) => {
    prepare();
    expect(found(await examine(), 'AWS credentials', 'subscriptions')).toMatchObject({
      status: 'warning',
      found: expect.stringContaining(said),
    });
  });

  describe('webhook', () => {
    const key = randomBytes(32).toString('hex');
    const started: string[] = [];
    let functionUrl: FunctionUrl;

    beforeEach(async () => {
      started.length = 0;
      const handle = createWebhookHandler({
        readKey: async () => key,
        starts: [async (id) => void started.push(id)],
        log: () => undefined,
        clock: Date.now,
      });
      functionUrl = await startFunctionUrl({ handle, plain: true });
      deploy(key);
    });
    afterEach(async () => functionUrl[Symbol.asyncDispose]());

    const deploy = (stored: string) => {
      const KEY_SECRET_ARN = aws.secretsManager.putSecret(HUB_PLACE, 'WebhookKey', stored);
      aws.lambda.functions.set('CertMarshal-webhook', { environment: { KEY_SECRET_ARN }, url: `${functionUrl.url}/` });
    };
    const withWebhook = async (more: Examination = {}) => examine({ hub: 'hub: { webhook: true }', ...more });
    const statuses = (groups: readonly GroupResult[]) =>
      groups.find(({ subject }) => subject === 'webhook')?.checks.map(({ object, status }) => [object, status]);

    it('is tried for each cluster, where it is switched on, and starts its sweep', async () => {
      expect(statuses(await examine())).toBeUndefined();
      expect(statuses(await withWebhook())).toEqual([
        ['the URL of the hub', 'passed'],
        ['berlin-prod', 'passed'],
        [DUBLIN, 'passed'],
      ]);
      expect(started).toEqual(['berlin-prod', DUBLIN]);
      expect(statuses(await withWebhook({ only: 'berlin-prod' }))?.slice(1)).toEqual([['berlin-prod', 'passed']]);
    });

    it('fails where the hub has another key', async () => {
      deploy(randomBytes(32).toString('hex'));
      const groups = await withWebhook();
      expect(found(groups, 'webhook', 'webhook').status).toBe('passed');
      const fix = { text: expect.stringContaining('5 minutes') };
      expect(found(groups, 'webhook', 'token')).toMatchObject({ status: 'failed', found: 'HTTP 403', fix });
      expect(started).toEqual([]);
    });

    it.each<[Trouble | 'gone', object]>([
      ['error', { status: 'failed', found: 'HTTP 502' }],
      ['garbage', { status: 'failed', found: 'HTTP 200' }],
      ['another uid', { status: 'failed', found: 'HTTP 200' }],
      ['gone', { status: 'failed', found: expect.stringMatching(/^http:.* does not answer$/) }],
    ])('fails where the URL is %s', async (trouble, expected) => {
      if (trouble === 'gone') await functionUrl[Symbol.asyncDispose]();
      else functionUrl.trouble = trouble;
      const groups = await withWebhook();
      expect(found(groups, 'webhook', 'webhook')).toMatchObject(expected);
      expect(found(groups, 'webhook', 'token')).toMatchObject({ status: 'skipped', found: 'needs webhook' });
    });

    it('cannot be tried by those who may not read the key, which is no failure', async () => {
      aws.deny('lambda:GetFunctionUrlConfig', { account: HUB, role: SWEEP_ROLE });
      const groups = await withWebhook();
      expect(found(groups, 'webhook', 'webhook').status).toBe('warning');
      expect(found(groups, 'webhook', 'token')).toMatchObject({ status: 'skipped', found: 'needs webhook' });
    });

    it('fails where the stack is not deployed with it', async () => {
      aws.lambda.functions.clear();
      expect(found(await withWebhook(), 'webhook', 'webhook')).toMatchObject({
        status: 'failed',
        fix: { text: expect.stringContaining('hub.webhook: true') },
      });
    });
  });

  const create = `certmarshal credentials create --kubeconfig ADMIN.yaml --cluster berlin-prod --management --policy fleet.yaml --store secretsmanager:${NAME} --yes`;

  it.each([
    [
      'runs a command',
      (text: string) => text.replace(/token: \S+/, 'exec: { command: aws }'),
      'users[0].user.exec: a secret must not run commands',
    ],
    ['is no YAML', () => '{', 'kubeconfig: not valid YAML'],
    [
      'names a proxy',
      (text: string) => text.replace('server:', 'proxy-url: http://proxy\n      server:'),
      'proxies are not used',
    ],
  ])('finds that the kubeconfig in the secret %s', async (_what, change, problem) => {
    aws.secretsManager.putSecret(HUB_PLACE, NAME, change(kubeconfig));
    const broken = found(await examine(), 'berlin-prod', 'kubeconfig');
    expect(broken).toMatchObject({ status: 'failed', fix: { command: create } });
    expect(broken.found).toContain(problem);
    aws.secretsManager.putSecret(HUB_PLACE, NAME, kubeconfig);
    expect(found(await examine(), 'berlin-prod', 'kubeconfig').status).toBe('passed');
  });

  it.each([
    ['is missing', () => (secret = secret.replace('berlin-prod-', 'oslo-')), 'it does not exist'],
    ['is to be deleted', () => aws.secretsManager.markForDeletion(secret), 'scheduled for deletion'],
  ])('finds that the secret %s', async (_what, breakIt, problem) => {
    breakIt();
    const { status, found: came, fix } = found(await examine(), 'berlin-prod', 'secret');
    expect(status).toBe('failed');
    expect(came).toContain(problem);
    expect(fix?.text).toContain('write the ARN that it prints into fleet.yaml');
  });

  it('enters a cluster with an expired certificate where recovery of the file lets a sweep in', async () => {
    await cluster.serveUntil(new Date(Date.now() - 86_400_000));
    const until = new Date(Date.now() + 86_400_000).toISOString();
    const entry = `recovery:\n  - { cluster: berlin-prod, until: '${until}', pin: authority }`;
    expect(found(await examine({ hub: entry }), 'berlin-prod', 'certificate')).toMatchObject({
      status: 'warning',
      found: expect.stringContaining('and tolerated'),
    });
    expect(found(await examine(), 'berlin-prod', 'certificate').status).toBe('failed');
  });

  it('finds that there are no AWS credentials, and tries nothing else', async () => {
    const fleet = fleetOf('version: 1\ndiscovery: [{ accounts: [self], regions: [self] }]\n');
    const error = new AwsError(NO_AWS);
    const options = { ...OPTIONS, policies: fleet.policies };
    const groups = await fleetGroups(fleet, options, never, () => Promise.reject(error));
    expect(await Promise.all(groups.map((group) => runGroup(group, never)))).toEqual([
      {
        subject: 'AWS credentials',
        note: 'not tried without them: 1 account and Region',
        checks: [
          {
            id: 'aws-credentials',
            title: 'AWS accepts them',
            object: 'sts:GetCallerIdentity',
            status: 'failed',
            found: 'none',
            fix: { text: 'Sign in to AWS, for example aws sso login, or name another profile: AWS_PROFILE.' },
          },
        ],
      },
    ]);
  });

  it('tries one cluster alone, and names the others when there is none of that id', async () => {
    expect((await examine({ only: DUBLIN })).map(({ subject }) => subject)).toEqual([
      'AWS credentials',
      SOURCE,
      DUBLIN,
    ]);
    await expect(examine({ only: `${SPOKE}/${REGION}/oslo` })).rejects.toThrow(
      `There is no cluster ${SPOKE}/${REGION}/oslo. Name one by its id: berlin-prod, ${DUBLIN}, ACCOUNT/REGION/NAME of an EKS cluster that discovery finds.`,
    );
  });

  describe('as a person', () => {
    const PERSON = `arn:aws:sts::${HUB}:assumed-role/Admin/runtime`;
    const person = { role: `arn:aws:iam::${HUB}:role/Admin` };

    it('says who tries, and who sweeps', async () => {
      const [first] = await examine(person);
      expect(first?.note).toBe(`tried as ${PERSON}; the functions use ${SWEEP_ROLE}`);
    });

    it.each([
      [
        'is computed',
        { hub: `hub: { account: '${HUB}', region: eu-west-1 }` },
        `arn:aws:iam::${HUB}:role/CertMarshal-sweep-eu-west-1`,
      ],
      ['is not known', { alone: true }, 'SWEEP-ROLE-ARN, the output SweepRoleArn of the stack'],
    ])('says who sweeps where the role %s', async (_, options, expected) => {
      const [first] = await examine({ ...person, sweepRole: undefined, ...options });
      expect(first?.note).toBe(`tried as ${PERSON}; the functions use ${expected}`);
    });

    it('cannot assume the role of a spoke, which is no failure and weakens no trust policy', async () => {
      const groups = await examine(person);
      const { status, found: came, fix } = found(groups, SOURCE, 'assume-role');
      expect({ status, came }).toEqual({
        status: 'warning',
        came: `cannot be tried as ${PERSON}: only the hub's roles are trusted`,
      });
      expect(fix?.text).toContain(`with credentials of account ${SPOKE}:`);
      expect(fix?.text).not.toContain('Deploy');
      expect(fix?.command).toBe('aws iam get-role --role-name certmarshal-spoke --query Role.AssumeRolePolicyDocument');
      for (const check of ['list-clusters', 'describe-cluster', 'describe-instances'])
        expect(found(groups, SOURCE, check)).toMatchObject({ status: 'skipped', found: 'needs assume-role' });
    });

    const entered = async (options: Examination) => {
      aws.identity.putRole({ arn: SPOKE_ROLE, trusts: [person.role], externalId: 'certmarshal-demo' });
      return examine({ ...person, ...options });
    };

    it('cannot enter a cluster, which is no failure', async () => {
      const groups = await entered({ entry: ['certmarshal'] });
      expect(found(groups, DUBLIN, 'authentication')).toMatchObject({
        status: 'warning',
        found: expect.stringContaining(`cannot be tried as ${PERSON}`),
      });
      expect(found(groups, DUBLIN, 'list-certificatesigningrequests')).toMatchObject({
        status: 'skipped',
        found: 'needs authentication',
      });
      expect(found(groups, DUBLIN, 'access-entry')).toMatchObject({
        status: 'passed',
        object: SWEEP_ROLE,
        found:
          'it has one, in the group certmarshal, since 2026-11-20 09:30 UTC; an entry that is older than the role lets no one in',
      });
    });

    const UPDATE = {
      command: expect.stringMatching(/^aws eks update-access-entry .* --kubernetes-groups viewers certmarshal$/),
    };
    const OUTPUT = expect.stringContaining('SWEEP-ROLE-ARN is the output SweepRoleArn of the stack CertMarshal');

    it.each<[string, Examination, object]>([
      ['is missing', {}, { ...failedWith('there is no access entry'), fix: { command: makeEntry(SWEEP_ROLE) } }],
      ['has other groups', { entry: ['viewers'] }, { ...failedWith('it has one, in the groups viewers'), fix: UPDATE }],
      [
        'may not be seen',
        { entry: new AwsError({ ...NO_AWS, kind: 'denied' }) },
        { ...warned(`it cannot be looked up as ${PERSON}: none`), fix: { command: makeEntry(SWEEP_ROLE) } },
      ],
      [
        'cannot be, by the authentication mode',
        { entry: new AwsError({ ...NO_AWS, kind: 'invalid' }) },
        { status: 'warning', fix: { text: expect.stringContaining('CONFIG_MAP') } },
      ],
      [
        'is for a role that is not known',
        { alone: true, account: SPOKE, role: `arn:aws:iam::${SPOKE}:role/Admin`, sweepRole: undefined },
        { status: 'warning', fix: { command: makeEntry('SWEEP-ROLE-ARN'), text: OUTPUT } },
      ],
    ])('looks up the access entry of the sweep: it %s', async (_, options, expected) => {
      expect(found(await entered(options), DUBLIN, 'access-entry')).toMatchObject(expected);
    });

    it('puts no group into a command that a shell could take for something else', async () => {
      const result = found(await entered({ entry: ['$(reboot)'] }), DUBLIN, 'access-entry');
      expect(result.status).toBe('failed');
      expect(result.fix).toEqual({ text: 'Its access entry must have the group certmarshal.' });
    });

    it('may not read a secret, which is no failure, and grants itself nothing', async () => {
      aws.deny('secretsmanager:GetSecretValue', { account: HUB, role: person.role });
      const groups = await examine(person);
      const { status, fix } = found(groups, 'berlin-prod', 'secret');
      expect(status).toBe('warning');
      expect(fix?.command).toBeUndefined();
      expect(found(groups, 'berlin-prod', 'kubeconfig')).toMatchObject({ status: 'skipped', found: 'needs secret' });
      expect(JSON.stringify(groups)).not.toContain('put-role-policy');
    });

    it('of another account does not read that one in the name of the hub', async () => {
      const groups = await examine({ ...person, hub: `hub: { account: '${SPOKE}', region: ${REGION} }` });
      expect(groups.map(({ subject }) => subject)).toEqual(['AWS credentials', SOURCE, 'berlin-prod']);
      expect(found(groups, SOURCE, 'aws-account')).toMatchObject({
        status: 'warning',
        fix: { text: `Use credentials of account ${SPOKE}.` },
      });
    });
  });

  it('knows what the file alone can tell before anybody signs in', async () => {
    const fleet = fleetOf(`version: 1
managementClusters:
  - name: mgmt
    kubeconfigSecret: ${secret}
    workloadClusters: { kubeconfigSecrets: { berlin: ${secret.replace('prod', 'test')} } }
`);
    const tried = (only?: string) =>
      fleetGroups(fleet, { ...OPTIONS, policies: [], only }, never, () => Promise.reject(new AwsError(NO_AWS)));
    await expect(tried('nope')).rejects.toThrow('There is no cluster nope. Name one by its id: mgmt, mgmt/berlin.');
    expect((await tried())[0]?.note).toBe('not tried without them: 2 clusters');
    for (const id of ['mgmt/berlin', 'mgmt/eksa-system/berlin'])
      expect((await tried(id))[0]?.note).toBe(`without them ${id} cannot be tried, and nothing is known about it`);
    await expect(tried('mgmt/other/berlin')).rejects.toThrow('There is no cluster mgmt/other/berlin.');
  });

  it('shows no secret in what it prints', async () => {
    const output = draw(doctorLines(await examine()), { width: 120 }) + JSON.stringify(await examine());
    expect(output).not.toContain(cluster.tokenFor('certmarshal'));
    expect(output).not.toMatch(/k8s-aws-v1\.|token-of-/);
  });
});
