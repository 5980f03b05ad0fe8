import { afterEach, beforeEach, describe, expect, it } from 'vitest';
import { renderDoctor } from '../../../bin/commands/render-doctor.ts';
import { connectAws } from '../../../bin/doctor/aws-calls.ts';
import { type CheckResult, type GroupResult, runGroup } from '../../../bin/doctor/check.ts';
import { fleetGroups } from '../../../bin/doctor/fleet-groups.ts';
import { styleFor } from '../../../bin/terminal/style.ts';
import { AwsError } from '../../../lambdas/aws/errors.ts';
import { parseFleet } from '../../../lambdas/config/load-fleet.ts';
import { kubeconfigYaml } from '../../control-plane/kubeconfig.ts';
import { type SimulatedApiServer, startSimulatedApiServer } from '../../fleet/api-server.ts';
import { awsClientConfig } from '../../fleet/aws/aws-environment.ts';
import { type SimulatedAws, startSimulatedAws } from '../../fleet/aws/simulated-aws.ts';
import { fastClock } from '../../fleet/clock.ts';

const HUB = '111122223333';
const SPOKE = '222233334444';
const REGION = 'eu-central-1';
const SWEEP_ROLE = `arn:aws:iam::${HUB}:role/certmarshal-sweep`;
const SPOKE_ROLE = `arn:aws:iam::${SPOKE}:role/certmarshal-spoke`;
const NAME = 'certmarshal/berlin-prod';
const never = new AbortController().signal;

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
    aws.eks.putCluster({ account: SPOKE, region: REGION }, eksCluster('dublin'));
    kubeconfig = kubeconfigYaml(cluster.server, cluster.caPem, 'certmarshal', {
      token: cluster.tokenFor('certmarshal'),
    });
    secret = aws.secretsManager.putSecret({ account: HUB, region: REGION }, NAME, kubeconfig);
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

  async function examine({ externalId = 'certmarshal-demo', only }: { externalId?: string; only?: string } = {}) {
    const parsed = parseFleet(
      `version: 1
discovery:
  - accounts: ['${SPOKE}']
    regions: [self]
    externalId: ${externalId}
clusters:
  - name: berlin-prod
    provider: eks-anywhere
    kubeconfigSecret: ${secret}
`,
      'fleet.yaml',
    );
    if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems));
    const options = {
      policies: parsed.fleet.policies,
      policyFile: 'fleet.yaml',
      program: 'certmarshal',
      now: Date.now,
    };
    const config = awsClientConfig(aws, { account: HUB, role: SWEEP_ROLE, region: REGION });
    const groups = await fleetGroups(parsed.fleet, only, options, never, () => connectAws(never, config));
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
      found: `we are arn:aws:sts::${HUB}:assumed-role/certmarshal-sweep/runtime`,
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

  it.each<[broken: string, subject: string, check: string, breakIt: () => () => void, command: () => string]>([
    [
      'eks:ListClusters is denied',
      SOURCE,
      'list-clusters',
      denied('eks:ListClusters', SPOKE_ROLE),
      () => allowed('certmarshal-spoke', 'eks:ListClusters', '*'),
    ],
    [
      'eks:DescribeCluster is denied',
      SOURCE,
      'describe-cluster',
      denied('eks:DescribeCluster', SPOKE_ROLE),
      () => allowed('certmarshal-spoke', 'eks:DescribeCluster', '*'),
    ],
    [
      'ec2:DescribeInstances is denied',
      SOURCE,
      'describe-instances',
      denied('ec2:DescribeInstances', SPOKE_ROLE),
      () => allowed('certmarshal-spoke', 'ec2:DescribeInstances', '*'),
    ],
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
      () => aws.disableRegion({ account: SPOKE, region: REGION }),
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
    expect(fix?.text).toContain('Its trust policy has to name the caller');
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
      fix: { text: expect.stringContaining('as sts:ExternalId the externalId of fleet.yaml') },
    });
  });

  it('finds that the access entry is missing', async () => {
    const { status, fix } = found(await examine(), DUBLIN, 'authentication');
    expect(status).toBe('failed');
    expect(fix?.command).toBe(
      `aws eks create-access-entry --cluster-name dublin --region ${REGION} --principal-arn ${SWEEP_ROLE} --kubernetes-groups certmarshal`,
    );
  });

  it('finds a private endpoint without a lane', async () => {
    aws.eks.putCluster({ account: SPOKE, region: REGION }, { ...eksCluster('dublin'), endpointPublicAccess: false });
    expect(found(await examine(), DUBLIN, 'lane')).toMatchObject({
      status: 'failed',
      fix: { text: expect.stringContaining('vpcId: vpc-0123456789abcdef0') },
    });
  });

  const create = `certmarshal credentials create --kubeconfig ADMIN.yaml --cluster berlin-prod --management --policy fleet.yaml --store secretsmanager:${NAME}`;

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
    aws.secretsManager.putSecret({ account: HUB, region: REGION }, NAME, change(kubeconfig));
    const broken = found(await examine(), 'berlin-prod', 'kubeconfig');
    expect(broken).toMatchObject({ status: 'failed', fix: { command: create } });
    expect(broken.found).toContain(problem);
    aws.secretsManager.putSecret({ account: HUB, region: REGION }, NAME, kubeconfig);
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

  it('finds that there are no AWS credentials, and tries nothing else', async () => {
    const parsed = parseFleet('version: 1\ndiscovery: [{ accounts: [self], regions: [self] }]\n', 'fleet.yaml');
    if (!parsed.ok) throw new Error(JSON.stringify(parsed.problems));
    const options = { policies: parsed.fleet.policies, program: 'certmarshal', now: Date.now };
    const error = new AwsError({
      kind: 'expired',
      object: 'sts:GetCallerIdentity',
      problem: 'none',
      remedy: 'Sign in.',
    });
    const groups = await fleetGroups(parsed.fleet, undefined, options, never, () => Promise.reject(error));
    expect(await Promise.all(groups.map((group) => runGroup(group, never)))).toEqual([
      {
        subject: 'AWS credentials',
        checks: [
          {
            id: 'aws-credentials',
            title: 'AWS knows us',
            object: 'sts:GetCallerIdentity',
            status: 'failed',
            found: 'sts:GetCallerIdentity: none',
            fix: { text: 'Sign in.' },
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
    await expect(examine({ only: 'oslo' })).rejects.toThrow(
      `There is no cluster oslo. Name one of: berlin-prod, ${DUBLIN}.`,
    );
  });

  it('shows no secret in what it prints', async () => {
    const output = renderDoctor(await examine(), styleFor({}, {}), 120) + JSON.stringify(await examine());
    expect(output).not.toContain(cluster.tokenFor('certmarshal'));
    expect(output).not.toMatch(/k8s-aws-v1\.|token-of-/);
  });
});
