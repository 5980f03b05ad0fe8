import { once } from 'node:events';
import { createServer } from 'node:https';
import { afterEach, describe, expect, it } from 'vitest';
import { renderDoctor } from '../../../bin/commands/render-doctor.ts';
import { roleOf } from '../../../bin/doctor/aws-fixes.ts';
import { type Check, failed, type GroupResult, passed, runGroup, warning } from '../../../bin/doctor/check.ts';
import { kubeconfigSecretsCheck } from '../../../bin/doctor/cluster-checks.ts';
import { probeServer } from '../../../bin/doctor/probe.ts';
import { grantFix, rightsOf } from '../../../bin/doctor/rights.ts';
import { type Server, serverChecks } from '../../../bin/doctor/server-checks.ts';
import { styleFor } from '../../../bin/terminal/style.ts';
import { DEFAULT_POLICY } from '../../../lambdas/approval/policy.ts';
import { text } from '../../../lambdas/approval/wire.ts';
import type { KubernetesClient } from '../../../lambdas/kubernetes/client.ts';
import { KubernetesError } from '../../../lambdas/kubernetes/errors.ts';
import { createAuthority } from '../../control-plane/pki.ts';
import { runCli } from './run-cli.ts';

const never = new AbortController().signal;
const check = (id: string, run: Check['run'], needs: readonly string[] = []): Check => ({
  id,
  title: `title of ${id}`,
  object: 'object',
  needs,
  run,
});
const FIX = { text: 'Mend it:', command: 'mend it' };

describe('running checks', () => {
  it('skips what needs a failure, and what needs that, but nothing after a warning', async () => {
    const ran: string[] = [];
    const run = (id: string, answer: Awaited<ReturnType<Check['run']>>) => async () => {
      ran.push(id);
      return answer;
    };
    const { checks } = await runGroup(
      {
        subject: 'x',
        checks: [
          check('a', run('a', warning('old', FIX))),
          check('b', run('b', failed('no', FIX)), ['a']),
          check('c', run('c', passed('yes')), ['b']),
          check('d', run('d', passed('yes')), ['a', 'c']),
          check('e', run('e', passed('yes')), ['a']),
        ],
      },
      never,
    );
    expect(ran).toEqual(['a', 'b', 'e']);
    expect(checks.map(({ id, status, found }) => [id, status, found])).toEqual([
      ['a', 'warning', 'old'],
      ['b', 'failed', 'no'],
      ['c', 'skipped', 'needs b'],
      ['d', 'skipped', 'needs c'],
      ['e', 'passed', 'yes'],
    ]);
  });

  it('takes an error of the cluster for a failure with its remedy, and one of ours for what it is', async () => {
    let closed = 0;
    const group = (error: Error) => ({
      subject: 'x',
      checks: [check('a', () => Promise.reject(error))],
      close: () => {
        closed += 1;
      },
    });
    const error = new KubernetesError({ kind: 'server', object: 'list x', problem: 'answered 500', remedy: 'Look.' });
    expect((await runGroup(group(error), never)).checks).toMatchObject([
      { status: 'failed', found: 'list x: answered 500', fix: { text: 'Look.' } },
    ]);
    await expect(runGroup(group(new TypeError('bug')), never)).rejects.toThrow('bug');
    expect(closed).toBe(2);
  });

  it('tries nothing more once it is interrupted', async () => {
    const result = await runGroup(
      { subject: 'x', checks: [check('a', async () => passed('yes'))] },
      AbortSignal.abort(),
    );
    expect(result.checks).toMatchObject([{ status: 'failed', found: 'not tried: it was interrupted' }]);
  });
});

describe('what the doctor prints', () => {
  const groups: readonly GroupResult[] = [
    {
      subject: 'berlin-prod',
      checks: [
        { id: 'resolve', title: 'name resolves', object: 'berlin.example.com', status: 'passed', found: '10.0.0.1' },
        {
          id: 'list-nodes',
          title: 'right is granted',
          object: 'list nodes',
          status: 'failed',
          found: 'not granted',
          fix: FIX,
        },
        {
          id: 'get-nodes',
          title: 'right is granted',
          object: 'get nodes',
          status: 'failed',
          found: 'not granted',
          fix: FIX,
        },
        {
          id: 'signer',
          title: 'signer signs',
          object: 'x',
          status: 'warning',
          found: 'old\u001b[2J',
          fix: { text: 'Look.' },
        },
        { id: 'machines', title: 'has its Machines', object: 'x', status: 'skipped', found: 'needs list-nodes' },
      ],
    },
  ];

  it('is aligned, names each repair once, and lets no cluster draw on the terminal', () => {
    expect(renderDoctor(groups, styleFor({}, {}), undefined)).toBe(`2 of 5 checks failed, 1 warning, 1 not tried.

berlin-prod
  ✔  name resolves     berlin.example.com  10.0.0.1
  ✖  right is granted  list nodes          not granted
  ✖  right is granted  get nodes           not granted
  !  signer signs      x                   old\\u{1b}[2J
  ·  has its Machines  x                   skipped: needs list-nodes

  → list-nodes, get-nodes: Mend it:
      mend it

  → signer: Look.`);
  });

  it('has colours only for a person who wants them, and never breaks a command', () => {
    const terminal = { isTTY: true };
    expect(renderDoctor(groups, styleFor(terminal, {}), 80)).toContain('\u001b[31m✖');
    const command = `mend ${'x'.repeat(200)} it`;
    const long = [{ subject: 'x', checks: [{ ...groups[0]!.checks[1]!, fix: { text: 'y '.repeat(100), command } }] }];
    const plain = renderDoctor(long, styleFor(terminal, { NO_COLOR: '1' }), 80);
    expect(plain).not.toContain('\u001b');
    expect(plain.split('\n')).toContain(`      ${command}`);
  });
});

describe('rights', () => {
  it('are those that certmarshal rbac grants', () => {
    expect(rightsOf('workload', [DEFAULT_POLICY])).toContainEqual({
      verb: 'approve',
      group: 'certificates.k8s.io',
      resource: 'signers',
      name: 'kubernetes.io/kubelet-serving',
    });
    expect(rightsOf('workload', [DEFAULT_POLICY])).toContainEqual({
      verb: 'update',
      group: 'certificates.k8s.io',
      resource: 'certificatesigningrequests',
      subresource: 'approval',
    });
    expect(rightsOf('management', [DEFAULT_POLICY])).toContainEqual({
      verb: 'list',
      group: 'cluster.x-k8s.io',
      resource: 'machines',
    });
  });

  it.each([
    ['system:serviceaccount:kube-system:certmarshal', [], ' --service-account kube-system/certmarshal | kubectl'],
    ['anybody', ['certmarshal'], ' rbac | kubectl'],
    ['arn:aws:iam::111122223333:role/x', [], ' --user arn:aws:iam::111122223333:role/x | kubectl'],
  ])('are granted to whom the API server takes us for: %s %j', (username, groups, expected) => {
    expect(grantFix('workload', { username, groups }, { program: 'certmarshal' }).command).toContain(expected);
  });

  it.each(['$(reboot)', "x' --group system:masters", 'a b', '-x'])('puts no name %j into a command', (username) => {
    const fix = grantFix('workload', { username, groups: [] }, { program: 'certmarshal' });
    expect(fix.command).toBeUndefined();
    expect(fix.text).toContain('certmarshal rbac --user NAME | kubectl apply -f -');
  });
});

describe('kubeconfigs in a management cluster', () => {
  const client = (granted: readonly string[]): KubernetesClient => ({
    server: 'https://mgmt',
    stats: { requests: 0, writes: 0, retries: 0, throttled: 0, bytes: 0 },
    close: () => {},
    async request({ method, path, body }) {
      const name = text(body, 'spec', 'resourceAttributes', 'name') ?? '';
      if (method === 'POST') return { status: { allowed: granted.includes(name) } };
      if (path.endsWith('/clusters'))
        return {
          items: ['berlin', 'oslo', 'other'].map((cluster) => ({ metadata: { name: cluster, namespace: 'eksa' } })),
        };
      return { versions: [{ version: 'v1beta2' }] };
    },
  });
  const secrets = (granted: readonly string[]) =>
    kubeconfigSecretsCheck(
      { client: client(granted) },
      (name) => name !== 'other',
      (clusters) =>
        grantFix('management', { username: 'x', groups: ['certmarshal'] }, { program: 'certmarshal' }, clusters),
    ).run(never);

  it('are asked for by name, and a repair takes none away', async () => {
    expect(await secrets(['berlin-kubeconfig', 'oslo-kubeconfig'])).toEqual(passed('2 workload clusters'));
    expect(await secrets(['berlin-kubeconfig'])).toMatchObject({
      status: 'failed',
      found: 'not granted for eksa/oslo',
      fix: {
        command:
          'certmarshal rbac --management --kubeconfig-of eksa/berlin --kubeconfig-of eksa/oslo | kubectl apply -f -',
      },
    });
  });
});

describe('the role of a principal', () => {
  it.each([
    ['arn:aws:sts::111122223333:assumed-role/sweep/session', 'arn:aws:iam::111122223333:role/sweep'],
    ['arn:aws-cn:iam::111122223333:role/path/sweep', 'arn:aws-cn:iam::111122223333:role/sweep'],
    ['arn:aws:iam::111122223333:user/eve', undefined],
    ["arn:aws:iam::111122223333:role/x'; reboot", undefined],
  ])('%s → %s', (arn, role) => {
    expect(roleOf(arn)?.arn).toBe(role);
  });
});

describe('an API server whose clock is wrong', () => {
  let close: (() => void) | undefined;
  afterEach(() => close?.());

  it.each([
    [0, 'passed', 'to the minute'],
    [11 * 60_000, 'failed', 'its clock is 11 min behind ours'],
    [-11 * 60_000, 'failed', 'its clock is 11 min ahead of ours'],
  ])('is found: ours is %d ms ahead', async (skew, status, found) => {
    const authority = await createAuthority('clocks');
    const { certPem: cert, keyPem: key } = await authority.serverCertificate('kube-apiserver');
    const server = createServer({ cert, key }, (_request, response) => response.end('{}')).listen(0, '127.0.0.1');
    close = () => server.close();
    await once(server, 'listening');
    const address = server.address();
    const port = typeof address === 'object' ? address?.port : 0;
    const connection = {
      server: `https://127.0.0.1:${port}`,
      caPem: authority.certPem,
      credentials: { kind: 'token' as const, token: 'x' },
    };
    const now = () => Date.now() + skew;
    const examined: Server = { connection, probe: await probeServer(connection, now, never) };
    const options = { after: 'kubeconfig', object: 'x', renew: FIX, now };
    const clock = serverChecks(examined, options).find(({ id }) => id === 'clock');
    expect(await clock?.run(never)).toMatchObject({ status, found });
  });
});

describe('certmarshal doctor', () => {
  it('refuses options that contradict each other', async () => {
    expect(await runCli(['doctor', '--fleet', 'fleet.yaml', '--kubeconfig', 'x'])).toEqual({
      status: 2,
      stdout: '',
      stderr: '--fleet names the clusters and policies itself; give it with no other option than --cluster.\n',
    });
  });

  it('documents every check it knows', async () => {
    const { readFile } = await import('node:fs/promises');
    const page = await readFile(new URL('../../../docs/doctor.md', import.meta.url), 'utf8');
    const sources = ['server-checks', 'rights', 'cluster-checks', 'kubeconfig-door', 'source-checks', 'fleet-groups'];
    for (const source of sources) {
      const code = await readFile(new URL(`../../../bin/doctor/${source}.ts`, import.meta.url), 'utf8');
      for (const [, id = ''] of code.matchAll(/\bid: '([a-z-]+)'/g)) expect(page).toContain(`\`${id}\``);
    }
    for (const { verb, resource, subresource } of [
      ...rightsOf('workload', [{ ...DEFAULT_POLICY, evidence: ['node'] }]),
      ...rightsOf('management', []),
    ])
      expect(page).toContain(`\`${[verb, resource, subresource].filter((part) => part !== undefined).join('-')}\``);
  });
});
