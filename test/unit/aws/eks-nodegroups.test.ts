import { describe, expect, it } from 'vitest';

import { createEksNodeGroups } from '../../../lambdas/aws/eks-nodegroups.ts';
import type { AwsScope } from '../../../lambdas/contracts/target.ts';
import { type EksRestFake, type FakeEksCluster, startEksRestFake } from './eks-rest-fake.ts';
import { awsFailure } from './failure.ts';
import { type HttpCall, json, jsonRefusal, startHttpService } from './http-service.ts';

const SCOPE = { account: '111122223333', region: 'eu-central-1' } satisfies AwsScope;
const NOW = Date.UTC(2026, 10, 22, 12);
const never = new AbortController().signal;
const TAG = 'certmarshal.dev/rollout-mode';
const TOKEN = 'ng-0123456789abcdef0123456';

const state = (): FakeEksCluster => ({
  cluster: { name: 'dublin', status: 'ACTIVE', version: '1.34', tags: { [TAG]: 'auto' } },
  authorities: [],
  nodegroups: new Map([
    [
      'blue',
      {
        createdAt: 1_760_000_000,
        status: 'DEGRADED',
        version: '1.34',
        releaseVersion: '1.34.1-20260901',
        amiType: 'AL2023_x86_64_STANDARD',
        launchTemplate: { id: 'lt-0abc', version: '3' },
        updateConfig: { maxUnavailable: 1, updateStrategy: 'MINIMAL' },
        health: { issues: [{ code: 'NodeCreationFailure', message: 'no\u001b[31m', resourceIds: [] }, {}] },
      },
    ],
    ['green', { createdAt: 1_770_000_000, status: 'ACTIVE' }],
  ]),
  updates: new Map([
    ['', [{ id: 'c-1', status: 'Successful', type: 'CertificateAuthorityUpdate', createdAt: NOW }]],
    [
      'blue',
      [
        {
          id: 'b-1',
          status: 'Failed',
          type: 'VersionUpdate',
          createdAt: NOW,
          errors: [{ errorCode: 'PodEvictionFailure' }],
        },
      ],
    ],
  ]),
});

async function withFake(use: (fake: EksRestFake, dublin: ReturnType<typeof client>) => Promise<void>): Promise<void> {
  await using fake = await startEksRestFake(state(), () => NOW);
  await use(fake, client(fake));
}

function client(service: Pick<EksRestFake, 'config'>) {
  const { credentials, ...config } = service.config;
  return createEksNodeGroups({ config, credentials: () => async () => credentials })(SCOPE, 'dublin');
}

describe('reads', () => {
  it('the cluster', () =>
    withFake(async (_, dublin) => {
      expect(await dublin.cluster(TAG, never)).toEqual({ status: 'ACTIVE', version: '1.34', mode: 'auto' });
      expect(await dublin.cluster('constructor', never)).toEqual({ status: 'ACTIVE', version: '1.34' });
    }));

  it('each node group', () =>
    withFake(async (_, dublin) => {
      expect(await dublin.nodeGroups(never)).toEqual([
        {
          name: 'blue',
          createdAt: 1_760_000_000_000,
          status: 'DEGRADED',
          issues: ['NodeCreationFailure', 'Unknown'],
          version: '1.34',
          releaseVersion: '1.34.1-20260901',
          amiType: 'AL2023_x86_64_STANDARD',
          launchTemplate: 'lt-0abc',
          strategy: 'MINIMAL',
        },
        { name: 'green', createdAt: 1_770_000_000_000, status: 'ACTIVE', issues: [] },
      ]);
    }));

  it('that a group has a launch template, even where its id is missing', () =>
    withFake(async (fake, dublin) => {
      fake.state.nodegroups.set('green', { createdAt: 1, status: 'ACTIVE', launchTemplate: { name: 'mine' } });
      expect((await dublin.nodeGroups(never))[1]).toMatchObject({ launchTemplate: 'without an id' });
    }));

  it('updates of the cluster, and of a group', () =>
    withFake(async (_, dublin) => {
      expect(await dublin.updates(undefined, never)).toEqual([
        { id: 'c-1', status: 'Successful', type: 'CertificateAuthorityUpdate', createdAt: NOW, errors: [] },
      ]);
      expect(await dublin.updates('blue', never)).toEqual([
        { id: 'b-1', status: 'Failed', type: 'VersionUpdate', createdAt: NOW, errors: ['PodEvictionFailure'] },
      ]);
      expect(await dublin.updates('green', never)).toEqual([]);
    }));
});

describe('updates a node group', () => {
  it('with a token, never by force, and with nothing else', () =>
    withFake(async (fake, dublin) => {
      const begun = await dublin.update('green', TOKEN, never);
      expect(begun).toEqual({ kind: 'begun', id: fake.tokens.get(TOKEN) });
      expect(fake.calls).toHaveLength(1);
      const [{ method, path, body } = { method: '', path: '', body: '{}' }] = fake.calls;
      expect([method, path]).toEqual(['POST', '/clusters/dublin/node-groups/green/update-version']);
      expect(JSON.parse(body)).toEqual({ clientRequestToken: TOKEN, force: false });
    }));

  it('once, however often it is asked with one token', () =>
    withFake(async (fake, dublin) => {
      const first = await dublin.update('green', TOKEN, never);
      expect(await dublin.update('green', TOKEN, never)).toEqual(first);
      expect(fake.state.updates.get('green')).toHaveLength(1);
    }));

  it('once, where the first answer is lost and the call is made again', () =>
    withFake(async (fake, dublin) => {
      fake.refuseUpdate = 'lost';
      expect(await dublin.update('green', TOKEN, never)).toMatchObject({ kind: 'begun' });
      expect(fake.calls).toHaveLength(2);
      expect(new Set(fake.calls.map(({ body }) => body)).size).toBe(1);
      expect(fake.state.updates.get('green')).toHaveLength(1);
    }));

  it.each([
    ['InvalidParameterException', 400, 'refused'],
    ['InvalidRequestException', 400, 'refused'],
    ['ResourceInUseException', 409, 'busy'],
  ])('%s (%i) is %s, and asked once', (code, status, kind) =>
    withFake(async (fake, dublin) => {
      fake.refuseUpdate = jsonRefusal(code, status);
      const update = await dublin.update('green', TOKEN, never);
      expect(update).toMatchObject({ kind, problem: { kind } });
      expect(update.kind !== 'begun' && update.problem.message).toBe(`EKS rejects it (${code}): ${code} of the test`);
      expect(fake.calls).toHaveLength(1);
    }),
  );

  it.each([
    ['AccessDeniedException', 403, 'denied'],
    ['ResourceNotFoundException', 404, 'not-found'],
    ['ClientException', 400, 'invalid'],
  ])('%s (%i) is an error: %s', (code, status, kind) =>
    withFake(async (fake, dublin) => {
      fake.refuseUpdate = jsonRefusal(code, status);
      expect(await awsFailure(dublin.update('green', TOKEN, never))).toMatchObject({
        kind,
        object: 'eks:UpdateNodegroupVersion green of dublin in 111122223333/eu-central-1',
      });
    }),
  );

  it.each([
    'You are not authorized to launch instances with this launch template. Encoded authorization failure message: SAh2nDlM_rJs7hFu',
    'Encoded authorization failure message: SAh2nDlM_rJs7hFu',
    'User: arn:aws:sts::111122223333:assumed-role/sweep/s is not authorized to perform: ec2:RunInstances',
  ])('what EKS refuses for lack of rights is denied, in whatever words: %s', (message) =>
    withFake(async (fake, dublin) => {
      const headers = { 'x-amzn-errortype': 'InvalidRequestException' };
      fake.refuseUpdate = { status: 400, headers, body: JSON.stringify({ message }) };
      const failure = await awsFailure(dublin.update('green', TOKEN, never));
      expect(failure.kind).toBe('denied');
      expect(failure.message).not.toContain('SAh2nDlM');
    }),
  );

  it('a message of EKS reaches no terminal as it is', () =>
    withFake(async (fake, dublin) => {
      fake.refuseUpdate = {
        status: 400,
        headers: { 'x-amzn-errortype': 'InvalidRequestException' },
        body: JSON.stringify({ message: `\u001b[31m${'x'.repeat(1000)}` }),
      };
      const update = await dublin.update('green', TOKEN, never);
      const message = update.kind === 'begun' ? '' : update.problem.message;
      expect(message).toContain('\\u{1b}[31m');
      expect(message.length).toBeLessThan(500);
    }));
});

describe('answers that cannot be', () => {
  type Read = (dublin: ReturnType<typeof client>) => Promise<unknown>;
  const read: Read = (dublin) => dublin.cluster(TAG, never);
  const groups: Read = (dublin) => dublin.nodeGroups(never);
  const updates: Read = (dublin) => dublin.updates('blue', never);
  const group = (change: object) => ({
    nodegroup: { nodegroupName: 'blue', createdAt: 1, status: 'ACTIVE', ...change },
  });
  const update = (change: object) => ({
    update: { id: 'b-1', status: 'Failed', type: 'VersionUpdate', createdAt: 1, ...change },
  });
  const lists = ({ path }: HttpCall) => path.endsWith('/node-groups') || path.endsWith('/updates');

  it.each<[string, Read, unknown]>([
    ['another cluster', read, { cluster: { name: 'berlin', status: 'ACTIVE' } }],
    ['no cluster', read, {}],
    ['no status', read, { cluster: { name: 'dublin' } }],
    ['another group', groups, group({ nodegroupName: 'green' })],
    ['a group without a time', groups, group({ createdAt: null })],
    ['a group without a status', groups, group({ status: 'what?' })],
    ['issues that are no list', groups, group({ health: { issues: 'many' } })],
    ['an image type that is no text', groups, group({ amiType: 7 })],
    ['another update', updates, update({ id: 'b-2' })],
    ['an update without a status', updates, update({ status: null })],
    ['an update without a type', updates, update({ type: '<script>' })],
    ['an update after 9999', updates, update({ createdAt: 1e12 })],
    ['errors that are no list', updates, update({ errors: 'all' })],
  ])('%s', async (_, asked, body) => {
    await using service = await startHttpService((call) =>
      lists(call) ? json({ nodegroups: ['blue'], updateIds: ['b-1'] }) : json(body),
    );
    expect(await awsFailure(asked(client(service)))).toMatchObject({ kind: 'invalid' });
  });

  it.each<[string, Read, unknown]>([
    ['no list', groups, {}],
    ['a name that is a path', groups, { nodegroups: ['../../x'] }],
    ['an id that is a path', updates, { updateIds: ['../../x'] }],
    ['a list that does not end', groups, { nodegroups: [], nextToken: 'more' }],
    ['a list that is too long', updates, { updateIds: Array.from({ length: 501 }, (_, at) => `u-${at}`) }],
  ])('a list: %s', async (_, asked, body) => {
    await using service = await startHttpService(() => json(body));
    expect(await awsFailure(asked(client(service)))).toMatchObject({ kind: 'invalid' });
  });

  it('an update without an id is not known to have begun', async () => {
    await using service = await startHttpService(() => json({ update: {} }));
    expect(await awsFailure(client(service).update('blue', TOKEN, never))).toMatchObject({ kind: 'invalid' });
  });
});
