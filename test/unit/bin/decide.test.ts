import { Readable } from 'node:stream';
import { describe, expect, it } from 'vitest';
import { decideCommand } from '../../../bin/commands/decide.ts';
import { type ApprovalPolicy, DEFAULT_POLICY } from '../../../lambdas/approval/policy.ts';
import { csrOf, machineOf, nodeName, requestOf } from '../../bench/fixtures.ts';
import { recordedIo } from './io.ts';
import { runCli, runShell } from './run-cli.ts';

const CREATED = '2026-01-01T00:00:00Z';
const line = (index: number, changes: object = {}): string =>
  JSON.stringify({
    id: `r${index}`,
    cluster: { name: 'bench', provider: 'eks-anywhere' },
    csr: csrOf(index, requestOf(index), CREATED),
    machines: [machineOf(index), machineOf(index + 1)],
    now: '2026-01-01T00:01:00Z',
    ...changes,
  });

const parse = (stdout: string) =>
  stdout
    .trim()
    .split('\n')
    .map((text) => JSON.parse(text));

describe('certmarshal decide', () => {
  it('believes no Machine of another namespace', async () => {
    // Worker-2 would contest the address of worker-1.
    const moved = (machine: object) => JSON.parse(JSON.stringify(machine).replaceAll('eksa-system', 'tenant'));
    const rival = JSON.parse(JSON.stringify(machineOf(2)).replaceAll('10.0.0.2', '10.0.0.1'));
    const there = { cluster: { name: 'bench', provider: 'eks-anywhere', namespace: 'tenant' } };
    const input = [
      line(1, { machines: [moved(machineOf(1))] }),
      line(1, { machines: [moved(machineOf(1))], ...there }),
      line(1, { machines: [machineOf(1), rival] }),
      line(1, { machines: [machineOf(1), moved(rival)] }),
    ].join('\n');
    const { stdout } = await runCli(['decide'], input);
    expect(parse(stdout).map(({ reason }) => reason)).toEqual(['EvidenceMissing', 'Proven', 'SanContested', 'Proven']);
  });

  it('judges a hybrid node by the networks that the line names', async () => {
    const policies: ApprovalPolicy[] = [{ ...DEFAULT_POLICY, evidence: ['ec2', 'hybrid'] }];
    const nodes = [
      { metadata: { name: nodeName(1) }, status: { addresses: [{ type: 'InternalIP', address: '10.0.0.1' }] } },
    ];
    const of = (remoteNodeNetworks: unknown, ec2Instances: unknown = []) =>
      line(1, {
        cluster: { name: 'bench', provider: 'eks', remoteNodeNetworks },
        machines: undefined,
        nodes,
        ec2Instances,
        now: '2026-01-01T00:03:00Z',
      });
    const input = [of(['10.0.0.0/24']), of([]), of(['10.0.0.0/24'], null), of('x')].join('\n');
    const io = recordedIo();
    await decideCommand(policies, { ...io, stdin: Readable.from([input]) });
    const told = parse(io.stdout.text()).map(({ reason, error }) => reason ?? error);
    expect(told).toEqual([
      'Proven',
      'EvidenceMissing',
      'EvidenceMissing',
      'line 4: cluster.remoteNodeNetworks is not a list of CIDRs',
    ]);
  });

  it('answers each line in order, with the checks', async () => {
    const thief = csrOf(3, requestOf(3, { steals: 4 }), CREATED);
    const input = [line(1), line(3, { csr: thief }), line(5, { machines: [] })].join('\n');
    const { status, stdout, stderr } = await runCli(['decide'], input);
    expect({ status, stderr }).toEqual({ status: 0, stderr: '' });
    const [first, second, third] = parse(stdout);
    expect(first).toMatchObject({
      id: 'r1',
      verdict: 'approve',
      reason: 'Proven',
      message: `${nodeName(1)}, 10.0.0.1 ← Machine eksa-system/md-0-1`,
    });
    expect(first.checks).toHaveLength(18);
    expect(first.checks[0]).toEqual({
      rule: 'requester',
      passed: true,
      expected: expect.any(String),
      found: 'system:node:worker-1',
    });
    expect(second).toMatchObject({ id: 'r3', verdict: 'leave', reason: 'SanNotOwned' });
    expect(second.message).toBe('DNS name worker-4 belongs to worker-4 (Machine eksa-system/md-0-4)');
    expect(third).toMatchObject({ id: 'r5', verdict: 'leave', reason: 'EvidenceMissing' });
    expect(third.message).toBe('no Machine (0 checked) names node worker-5 yet');
  });

  it('answers a line that is not JSON with an error, loses no other line, and ends with status 1', async () => {
    const { status, stdout } = await runCli(['decide'], [line(1), '{"id":', '', 'null', line(2)].join('\r\n'));
    expect(status).toBe(1);
    const answers = parse(stdout);
    expect(answers.map(({ id, verdict, error }) => [id, verdict ?? error])).toEqual([
      ['r1', 'approve'],
      [null, expect.stringMatching(/^line 2 is not JSON: /)],
      [null, 'line 4: cluster.name is missing'],
      ['r2', 'approve'],
    ]);
  });

  it.each([
    ['a cluster without provider', { cluster: { name: 'x' } }, 'cluster.provider must be one of eks, eks-anywhere'],
    ['a time that is none', { now: 'yesterday' }, 'now is not an RFC 3339 time, for example 2026-01-31T12:00:00Z'],
    ['no request', { csr: undefined }, 'csr is missing'],
    ['machines that are no list', { machines: {} }, 'machines is not a list'],
    [
      'service CIDRs that are none',
      { cluster: { name: 'x', provider: 'eks', serviceCidrs: ['10/8'] } },
      'cluster.serviceCidrs is not a list of CIDRs',
    ],
  ])('says what is wrong with %s', async (_, changes, problem) => {
    const { status, stdout } = await runCli(['decide'], line(1, changes));
    expect(status).toBe(1);
    expect(parse(stdout)[0]).toMatchObject({ id: 'r1', error: `line 1: ${problem}` });
  });

  it('leaves an object that no API server stores', async () => {
    const { status, stdout } = await runCli(['decide'], line(1, { csr: { metadata: {} } }));
    expect(status).toBe(0);
    expect(parse(stdout)[0]).toMatchObject({
      verdict: 'leave',
      reason: 'ObjectMalformed',
      message: 'metadata.name is missing or too long',
    });
  });

  it.each([0, -1.5, '', null])('repeats the id %j', async (id) => {
    const { status, stdout } = await runCli(['decide'], line(1, { id }));
    expect({ status, id: parse(stdout)[0].id }).toEqual({ status: 0, id });
  });

  it('takes U+2028 and U+2029 for text', async () => {
    const { stdout } = await runCli(['decide'], `${line(1, { note: 'a\u2028b\u2029c' })}\n${line(2)}\n`);
    expect(parse(stdout).map(({ id, verdict }) => [id, verdict])).toEqual([
      ['r1', 'approve'],
      ['r2', 'approve'],
    ]);
  });

  it.each(['', '\n \n\r\n'])('says that there is no record in %j', async (input) => {
    expect(await runCli(['decide'], input)).toEqual({
      status: 2,
      stdout: '',
      stderr: 'There is no record on standard input: certmarshal decide --help shows one.\n',
    });
  });

  it('ends quietly when its reader has seen enough', async () => {
    const input = Array.from({ length: 2_000 }, (_, index) => line(index % 7)).join('\n');
    const { stdout, stderr } = await runShell('certmarshal decide | head -n 1', input);
    expect(parse(stdout)).toMatchObject([{ id: 'r0' }]);
    expect(stderr).toBe('');
  });

  it('answers thousands of lines in order', async () => {
    const input = Array.from({ length: 3_000 }, (_, index) => line(index % 7, { id: index })).join('\n');
    const { status, stdout } = await runCli(['decide'], input);
    expect(status).toBe(0);
    expect(parse(stdout).map(({ id }) => id)).toEqual(Array.from({ length: 3_000 }, (_, index) => index));
  });

  it('refuses a policy file with all its problems, and a file that is not there', async () => {
    const missing = await runCli(['decide', '--policy', 'no-such.yaml']);
    expect(missing).toMatchObject({
      status: 2,
      stdout: '',
      stderr: `There is no file no-such.yaml in ${process.cwd()}, which --policy names.\n`,
    });
  });
});
