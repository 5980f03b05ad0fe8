import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises';
import { createServer } from 'node:https';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { doctorLines } from '../../../bin/commands/doctor-view.ts';
import { type Check, failed, type GroupResult, passed, runGroup, untold, warning } from '../../../bin/doctor/check.ts';
import { kubeconfigSecretsCheck } from '../../../bin/doctor/cluster-checks.ts';
import { roleOf } from '../../../bin/doctor/hub-roles.ts';
import { probeServer } from '../../../bin/doctor/probe.ts';
import { grantFix, rightChecks, rightsOf } from '../../../bin/doctor/rights.ts';
import { type Server, serverChecks } from '../../../bin/doctor/server-checks.ts';
import { draw, screenOf } from '../../../bin/terminal/draw.ts';
import { DEFAULT_POLICY } from '../../../lambdas/approval/policy.ts';
import { DEFAULT_THRESHOLDS } from '../../../lambdas/audit/rules/thresholds.ts';
import type { KubernetesClient } from '../../../lambdas/kubernetes/client.ts';
import { KubernetesError } from '../../../lambdas/kubernetes/errors.ts';
import type { Identity } from '../../../lambdas/kubernetes/self-review.ts';
import { field, text } from '../../../lambdas/resources/fields.ts';
import { createAuthority, createServing, listen } from '../tls/tls-servers.ts';
import { kubeconfigOf } from './kubeconfigs.ts';
import { refusal, runCli } from './run-cli.ts';

const never = new AbortController().signal;
const check = (id: string, run: Check['run'], needs: readonly string[] = []): Check => ({
  id,
  title: `title of ${id}`,
  object: 'object',
  needs,
  run,
});
const clientOf = (request: KubernetesClient['request']): KubernetesClient => ({
  server: 'https://berlin',
  stats: { requests: 0, writes: 0, retries: 0, throttled: 0, bytes: 0 },
  close: () => {},
  request,
});
const FIX = { text: 'Mend it:', command: 'mend it' };

describe('running checks', () => {
  it('skips what needs a failure, and what needs that, but nothing after a mere warning', async () => {
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
      ['d', 'skipped', 'needs b'],
      ['e', 'passed', 'yes'],
    ]);
  });

  it('skips what needs something that cannot be told, which is shown as a warning', async () => {
    const group = {
      subject: 'x',
      note: 'y',
      checks: [check('a', async () => untold('not as us', FIX)), check('b', async () => passed('yes'), ['a'])],
    };
    expect(await runGroup(group, never)).toEqual({
      subject: 'x',
      note: 'y',
      checks: [
        { id: 'a', title: 'title of a', object: 'object', status: 'warning', found: 'not as us', fix: FIX },
        { id: 'b', title: 'title of b', object: 'object', status: 'skipped', found: 'needs a' },
      ],
    });
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
  const REFUSED = { title: 'right is granted', status: 'failed', found: 'not granted', fix: FIX } as const;
  const groups: readonly GroupResult[] = [
    {
      subject: 'berlin-prod',
      checks: [
        { id: 'resolve', title: 'name resolves', object: 'berlin.example.com', status: 'passed', found: '10.0.0.1' },
        { ...REFUSED, id: 'list-nodes', object: 'all' },
        { ...REFUSED, id: 'get-nodes', object: 'all' },
        { ...REFUSED, id: 'signer', object: 'x', status: 'warning', found: 'old\u001b[2J', fix: { text: 'Look.' } },
        { id: 'machines', title: 'has its Machines', object: 'x', status: 'skipped', found: 'needs list-nodes' },
      ],
    },
  ];

  it('is aligned, names each repair once, and lets no cluster draw on the terminal', () => {
    expect(draw(doctorLines(groups))).toBe(`2 of 5 checks failed, 1 warning, 1 not tried.

berlin-prod
  ✔  resolve           berlin.example.com  10.0.0.1
  ✖  list-nodes        all                 not granted
  ·  1 check needs it
  ✖  get-nodes         all                 not granted
  !  signer            x                   old\\u{1b}[2J

  → list-nodes, get-nodes: Mend it:
      mend it

  → signer: Look.`);
  });

  it('has a line for all that one failure keeps from being tried', () => {
    const needs = { status: 'skipped' as const, found: 'needs resolve' };
    const skipped = ['a', 'b', 'c'].map((id) => ({ id, title: id, object: id, ...needs }));
    const [resolve] = groups[0]?.checks ?? [];
    const checks = [{ ...resolve!, status: 'warning' as const, fix: { text: 'Look.' } }, ...skipped];
    const printed = draw(doctorLines([{ subject: 'x', note: 'tried as y', checks }]));
    expect(printed).toBe(`Nothing failed, 1 warning, 3 not tried.

x: tried as y
  !  resolve           berlin.example.com  10.0.0.1
  ·  3 checks need it

  → resolve: Look.`);
  });

  it('has colours only for a person who wants them, and never breaks a command', () => {
    const terminal = { isTTY: true };
    expect(draw(doctorLines(groups), screenOf({ ...terminal, columns: 80 }, {}))).toContain('\u001b[31m✖');
    const command = `mend ${'x'.repeat(200)} it`;
    const long = [{ subject: 'x', checks: [{ ...groups[0]!.checks[1]!, fix: { text: 'y '.repeat(100), command } }] }];
    const plain = draw(doctorLines(long), screenOf({ ...terminal, columns: 80 }, { NO_COLOR: '1' }));
    expect(plain).not.toContain('\u001b');
    expect(plain.split('\n')).toContain(`      ${command}`);
  });
});

describe('rights', () => {
  const [certificates, approval] = [{ group: 'certificates.k8s.io' }, { subresource: 'approval' }];
  it.each([
    ['workload', { verb: 'approve', ...certificates, resource: 'signers', name: 'kubernetes.io/kubelet-serving' }],
    ['workload', { verb: 'update', ...certificates, resource: 'certificatesigningrequests', ...approval }],
    ['management', { verb: 'list', group: 'cluster.x-k8s.io', resource: 'machines' }],
  ] as const)('are those that certmarshal rbac grants: %s %j', (role, right) => {
    expect(rightsOf(role, [DEFAULT_POLICY])).toContainEqual(right);
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

describe('rights of an audit', () => {
  const attributes = (body: unknown) => JSON.stringify(field(body, 'spec', 'resourceAttributes'));
  const client = (refused: (right: string) => boolean) =>
    clientOf(async ({ body }) => ({ status: { allowed: !refused(attributes(body)) } }));
  const tried = (role: 'workload' | 'management', refused: (right: string) => boolean, grantee?: Identity) => {
    const server = { client: client(refused), identity: { username: 'x', groups: ['certmarshal'] } };
    const options = { roles: [role], policies: [DEFAULT_POLICY], program: 'certmarshal' };
    return rightChecks(server, { ...options, ...(grantee === undefined ? {} : { grantee }) })
      .find(({ id }) => id.startsWith('audit-rights'))
      ?.run(never);
  };

  it('are one check', async () => {
    expect(await tried('workload', () => false)).toEqual(passed('9 rights'));
    expect(await tried('management', () => false)).toEqual(passed('9 rights'));
  });

  it('are a warning where they are missing, with the command that grants them', async () => {
    expect(await tried('workload', (right) => /nodes|cluster-info/.test(right))).toEqual({
      status: 'warning',
      found:
        '2 of 9 rights missing, an audit does not see what they show: list nodes, get configmaps kube-public/cluster-info',
      fix: { text: expect.any(String), command: 'certmarshal rbac | kubectl apply -f -' },
    });
    expect(
      await tried('management', (right) => right.includes('"resource":"clusters"') && right.includes('anywhere')),
    ).toMatchObject({
      status: 'warning',
      found: expect.stringMatching(/1 of 9 rights missing, .*: list clusters\.anywhere\.eks\.amazonaws\.com$/),
      fix: { command: 'certmarshal rbac --management | kubectl apply -f -' },
    });
  });

  it('cannot be told for somebody else', async () => {
    const grantee = { username: 'sweep', groups: ['certmarshal'] };
    expect(await tried('workload', () => true, grantee)).toMatchObject({
      status: 'warning',
      found: expect.stringMatching(/whether sweep has them cannot be told from here/),
    });
  });
});

describe('kubeconfigs in a management cluster', () => {
  const client = (granted: readonly string[]) =>
    clientOf(async ({ method, path, body }) => {
      const name = text(body, 'spec', 'resourceAttributes', 'name') ?? '';
      if (method === 'POST') return { status: { allowed: granted.includes(name) } };
      if (path.endsWith('/clusters'))
        return {
          items: ['berlin', 'oslo', 'other'].map((cluster) => ({ metadata: { name: cluster, namespace: 'eksa' } })),
        };
      return { versions: [{ version: 'v1beta2' }] };
    });
  const secrets = (granted: readonly string[]) =>
    kubeconfigSecretsCheck(
      { client: client(granted) },
      ['eksa'],
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

describe('an API server', () => {
  /** What the check says of a server of which the certificate is valid for these days. */
  async function found(id: string, from: number, to: number, more: Partial<Server['connection']> = {}, now = Date.now) {
    const authority = await createAuthority('doctor');
    const serving = await createServing(authority, { ipAddresses: ['127.0.0.1'], from, to });
    const port = await listen(createServer(serving, (_request, response) => response.end('{}')));
    const connection = {
      server: `https://127.0.0.1:${port}`,
      caPem: authority.certificate,
      credentials: { kind: 'token' as const, token: 'x' },
      addresses: 'local' as const,
      ...more,
    };
    const examined: Server = { connection, probe: await probeServer(connection, now, never) };
    const options = { after: 'kubeconfig', object: 'x', renew: FIX, thresholds: DEFAULT_THRESHOLDS, now };
    return serverChecks(examined, options)
      .find((one) => one.id === id)
      ?.run(never);
  }

  it.each([
    [0, 'passed', 'to the minute'],
    [11 * 60_000, 'failed', 'its clock is 11 min behind ours'],
    [-11 * 60_000, 'failed', 'its clock is 11 min ahead of ours'],
  ])('whose clock is wrong is found: ours is %d ms ahead', async (skew, status, words) => {
    expect(await found('clock', -1, 300, {}, () => Date.now() + skew)).toMatchObject({ status, found: words });
  });

  it.each([
    [200, 'passed', /^trusted, valid until \d{4}-\d\d-\d\d$/],
    [60, 'warning', /^trusted, valid until \d{4}-\d\d-\d\d: warning in an audit$/],
    [9, 'warning', /^trusted, valid until \d{4}-\d\d-\d\d: critical in an audit$/],
  ] as const)('whose certificate expires in %i days has what an audit has', async (days, status, words) => {
    const expected = { status, found: expect.stringMatching(words) };
    expect(await found('certificate', days - 365, days)).toMatchObject(expected);
  });

  it.each([
    ['is tolerated', { expiredServer: { pin: 'authority' } }, 'warning', /^expired on \d{4}-\d\d-\d\d, and tolerated$/],
    ['is not', {}, 'failed', /has expired/],
    ['is tolerated, if younger', { expiredServer: { pin: 'authority', expiredAtMostMs: 1 } }, 'failed', /expired/],
  ] as const)('whose certificate has expired fails unless it is tolerated: it %s', async (_, more, status, words) => {
    const answer = await found('certificate', -90, -1, more);
    expect(answer).toMatchObject({ status, found: expect.stringMatching(words) });
    // No credentials renew it.
    expect(JSON.stringify(answer)).not.toContain(FIX.command);
  });
});

describe('certmarshal doctor', () => {
  it.each([
    [
      ['--fleet', 'fleet.yaml', '--kubeconfig', 'x'],
      /^--kubeconfig cannot be given with --fleet, which names the clusters and policies itself\.\n$/,
    ],
    [['--fleet', 'x', '--allow-exec', '--context', 'y'], '--context and --allow-exec cannot be given with --fleet'],
    [['--fleet', 'x', '--tolerate-expired', 'authority'], '--tolerate-expired cannot be given with --fleet'],
    [['--tolerate-expired', 'sha256:ab'], '--tolerate-expired takes authority, or sha256:'],
    [['--sweep-role', 'arn:aws:iam::111122223333:role/x'], '--sweep-role needs --fleet'],
    [['--fleet', 'x', '--sweep-role', 'arn:aws:sts::111122223333:assumed-role/x/y'], 'takes the ARN of a role'],
    [
      ['--fleet', '~/fleet.yaml'],
      'There is no file ~/fleet.yaml, which --fleet names. In quotes, the shell does not expand ~',
    ],
  ])('refuses %j', async (args, expected) => {
    expect(await runCli(['doctor', ...args])).toEqual(refusal(expected));
  });

  it('says what each exit status means', async () => {
    const { stdout } = await runCli(['doctor', '--help']);
    expect(stdout).toMatch(/Exit status:\n {2}0 .*\n {2}1 .*kubeconfig cannot be used/);
  });

  describe('without a kubeconfig that can be used', () => {
    let home: string;
    beforeAll(async () => {
      home = await mkdtemp(join(tmpdir(), 'certmarshal-doctor-'));
    });
    afterAll(() => rm(home, { recursive: true }));
    const doctor = (args: readonly string[], env = {}) =>
      runCli(['doctor', ...args], '', { HOME: home, KUBECONFIG: '', ...env });

    it('says how one is named', async () => {
      expect(await doctor([])).toMatchObject({
        status: 2,
        stderr: `There is no file ${home}/.kube/config; name a kubeconfig with --kubeconfig.\n`,
      });
      expect(await doctor([], { KUBECONFIG: '/nowhere/x' })).toMatchObject({
        status: 2,
        stderr:
          'There is no file /nowhere/x, which KUBECONFIG names; name a kubeconfig with --kubeconfig, or unset KUBECONFIG.\n',
      });
    });

    it('fails, and says that it is empty and what to do or else to do', async () => {
      const file = join(home, 'empty.yaml');
      await writeFile(file, '\n');
      const { status, stdout } = await doctor(['--kubeconfig', file], { npm_lifecycle_event: 'certmarshal' });
      expect(status).toBe(1);
      expect(stdout).toContain('kubeconfig: it is empty');
      expect(stdout).toMatch(
        /Write it again: kubectl config view .* Or make new credentials .*\n.*npm run -s certmarshal -- credentials create/,
      );
    });

    it('knows an EKS cluster by its server when the file may not run its command', async () => {
      const file = join(home, 'eks.yaml');
      const arn = 'arn:aws:eks:eu-central-1:111122223333:cluster/dublin';
      await writeFile(
        file,
        kubeconfigOf({
          cluster: arn,
          server: 'https://ABC.gr7.eu-central-1.eks.amazonaws.com',
          user: { exec: { command: 'aws' } },
        }),
      );
      const { status, stdout } = await doctor(['--kubeconfig', file, '--output', 'json']);
      expect(status).toBe(1);
      const [{ subject, checks }] = JSON.parse(stdout).groups;
      expect(subject).toBe('dublin');
      const ids = checks.map(({ id }: { id: string }) => id);
      expect(ids).toContain('signer');
      for (const id of ['machines', 'list-machines', 'list-clusters']) expect(ids).not.toContain(id);
    });
  });

  it('without AWS says everything that is missing at once, and what was not tried', async () => {
    const directory = await mkdtemp(join(tmpdir(), 'certmarshal-doctor-'));
    const fleet = join(directory, 'fleet.yaml');
    await writeFile(fleet, 'version: 1\ndiscovery: [{ regions: [eu-central-1, eu-west-1] }]\n');
    const env = {
      AWS_CONFIG_FILE: '/dev/null',
      AWS_SHARED_CREDENTIALS_FILE: '/dev/null',
      AWS_EC2_METADATA_DISABLED: 'true',
      AWS_REGION: '',
      AWS_DEFAULT_REGION: '',
      AWS_ACCESS_KEY_ID: '',
    };
    const doctor = (more = {}) => runCli(['doctor', '--fleet', fleet], '', { ...env, ...more });
    try {
      const nothing = await doctor();
      expect(nothing.status).toBe(1);
      expect(nothing.stdout).toContain('AWS credentials: not tried without them: 2 accounts and Regions');
      expect(nothing.stdout).toContain('no Region is named; there are no usable AWS credentials');
      expect(nothing.stdout).not.toContain('function');
      const profile = await doctor({ AWS_PROFILE: 'nope' });
      expect(profile.stdout).toContain('AWS_PROFILE names the profile nope, which is in no file');
    } finally {
      await rm(directory, { recursive: true });
    }
  });

  it('documents every check it knows', async () => {
    const page = await readFile(new URL('../../../docs/doctor.md', import.meta.url), 'utf8');
    const folder = new URL('../../../bin/doctor/', import.meta.url);
    for (const source of await readdir(folder)) {
      const code = await readFile(new URL(source, folder), 'utf8');
      for (const [, id = ''] of code.matchAll(/\bid: '([a-z-]+)'/g)) expect(page).toContain(`\`${id}\``);
    }
    for (const { verb, resource, subresource } of [
      ...rightsOf('workload', [{ ...DEFAULT_POLICY, evidence: ['node'] }], { audit: false }),
      ...rightsOf('management', [], { audit: false }),
    ])
      expect(page).toContain(`\`${[verb, resource, subresource].filter((part) => part !== undefined).join('-')}\``);
  });
});
