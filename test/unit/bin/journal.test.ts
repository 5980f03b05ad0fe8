import { readFileSync } from 'node:fs';
import { mkdir, mkdtemp, rm, writeFile } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it, onTestFinished } from 'vitest';
import { type JournalSearchOptions, journalSearchCommand } from '../../../bin/commands/journal/search.ts';
import { type JournalVerifyOptions, journalVerifyCommand } from '../../../bin/commands/journal/verify.ts';
import { CHAIN_START, chainLines, readLine } from '../../../lambdas/journal/chain.ts';
import { CLUSTER, entry, memoryBucket, never, person, rollout, writerOf } from '../journal/values.ts';
import { outcomeOf, type RecordedIo, recordedIo } from './io.ts';
import { runCli } from './run-cli.ts';

const NOW = Date.UTC(2026, 10, 22, 10);

async function ran(command: (io: RecordedIo) => Promise<number>) {
  const io = recordedIo({ now: NOW });
  const { status, stdout, stderr } = await outcomeOf(io, command(io));
  return { status, text: stdout, errors: stderr };
}

/** A copy of a journal with three lines of dublin and one of berlin. */
async function copy(change: (objects: Map<string, Buffer>) => void = () => undefined): Promise<string> {
  const bucket = memoryBucket();
  const left = entry(3, {
    verdict: 'leave',
    reason: 'SanNotOwned',
    outcome: 'none',
    hostile: true,
    requester: 'system:node:worker-1',
    message: '10.0.1.8 is owned by worker-8\u001b[31m',
    csr: '=cmd()',
  });
  await writerOf(bucket).append(CLUSTER, [entry(1), entry(2), left], never);
  await writerOf(bucket).append('berlin', [entry(1, { cluster: 'berlin', at: '2026-10-01T10:00:00.000Z' })], never);
  change(bucket.objects);
  const directory = await mkdtemp(join(tmpdir(), 'journal-'));
  onTestFinished(() => rm(directory, { recursive: true }));
  for (const [key, bytes] of bucket.objects) {
    await mkdir(dirname(join(directory, key)), { recursive: true });
    await writeFile(join(directory, key), bytes);
  }
  return directory;
}

async function verify(options: Partial<JournalVerifyOptions>, signal = never) {
  return ran((io) => journalVerifyCommand({ output: 'table', program: 'certmarshal', ...options }, signal, io));
}

async function search(options: Partial<JournalSearchOptions>) {
  const all = { since: '30d', limit: '1000', output: 'table', program: 'certmarshal', ...options } as const;
  return ran((io) => journalSearchCommand(all, never, io));
}

const edit = (objects: Map<string, Buffer>): void => {
  for (const [key, bytes] of objects)
    if (key.startsWith('journal/2026-11'))
      objects.set(key, Buffer.from(bytes.toString().replace('worker-2', 'worker-9')));
};

describe('certmarshal journal verify', () => {
  it('says in its first line that all is well, and prints what to expect later', async () => {
    const directory = await copy();
    const { status, text } = await verify({ directory });
    expect(status).toBe(0);
    expect(text.split('\n')[0]).toBe('✔ 2 chains, 4 lines, unbroken');
    const anchors = text.match(/\S+=\d+:[0-9a-f]{64}/g) ?? [];
    expect(anchors).toEqual([
      expect.stringMatching(/^111122223333\/eu-central-1\/dublin=3:/),
      expect.stringMatching(/^berlin=1:/),
    ]);
    const [, command = ''] = text.split(/^  (?=certmarshal )/m);
    expect(command.replaceAll(/ \\\n +/g, ' ')).toBe(
      `certmarshal journal verify --directory ${directory} --expect ${anchors[0]} --expect ${anchors[1]}\n`,
    );
    expect(await verify({ directory, expect: anchors })).toMatchObject({ status: 0 });
  });

  it('says in its first line which chain is broken, and then where and what to do', async () => {
    const { status, text } = await verify({ directory: await copy(edit) });
    expect(status).toBe(1);
    const [first, ...rest] = text.split('\n');
    expect(first).toBe(`✖ 1 of 2 chains is broken: ${CLUSTER}, line 2 was changed after it was written`);
    expect(rest.join('\n')).toContain(`journal/2026-11-21/${CLUSTER}/000000000001.ndjson line 2`);
    expect(rest.join('\n')).toContain('→ The bucket keeps every version: aws s3api list-object-versions');
  });

  it('says that an anchor is gone', async () => {
    const { status, text } = await verify({ directory: await copy(), expect: [`berlin=9:${'a'.repeat(64)}`] });
    expect(status).toBe(1);
    expect(text.split('\n')[0]).toContain('✖ 1 of 2 chains is broken: berlin, line 9 was noted down, and it is gone');
  });

  it('says what does not belong there', async () => {
    const put = (objects: Map<string, Buffer>) => objects.set('journal/2026-11-21/\u001b[2Jx.txt', Buffer.from('x'));
    const { status, text } = await verify({ directory: await copy(put) });
    expect(status).toBe(1);
    expect(text.split('\n')[0]).toBe('✖ 2 chains, 4 lines, unbroken; 1 object does not belong there');
    expect(text).not.toContain('\u001b');
  });

  it('looks at one cluster, or the newest days', async () => {
    const directory = await copy();
    expect((await verify({ directory, cluster: 'berlin' })).text.split('\n')[0]).toBe('✔ 1 chain, 1 line, unbroken');
    const { text } = await verify({ directory, since: '30d' });
    expect(text.split('\n').slice(0, 2)).toEqual([
      '✔ 2 chains, 3 lines, unbroken',
      expect.stringContaining('Verified from 2026-10-23 on.'),
    ]);
  });

  it('gives programs everything', async () => {
    const { text } = await verify({ directory: await copy(edit), output: 'json' });
    expect(JSON.parse(text)).toMatchObject({
      version: 1,
      unbroken: false,
      chains: [
        { cluster: CLUSTER, lines: 3, problemCount: 1, problems: [{ line: 2, remedy: expect.any(String) }] },
        { cluster: 'berlin' },
      ],
      strayCount: 0,
    });
  });

  it('says how far it came when it was stopped', async () => {
    const end = new AbortController();
    end.abort();
    const { status, text, errors } = await verify({ directory: await copy() }, end.signal);
    expect({ status, text }).toEqual({ status: 1, text: '' });
    expect(errors).toMatch(/^Stopped after 0 objects of .*nothing can be said about the journal\.\n$/);
  });

  it.each<[string, Partial<JournalVerifyOptions>, RegExp]>([
    ['no journal', {}, /either --bucket NAME, or --directory/],
    ['two journals', { bucket: 'x-y', directory: '.' }, /either --bucket NAME, or --directory/],
    ['what is no bucket', { bucket: 's3://x' }, /--bucket takes the name/],
    ['what is no directory', { directory: '/no/such' }, /\/no\/such cannot be read: no such file/],
    ['what is no copy', { directory: tmpdir() }, /is not a copy of a journal/],
    ['a time', { directory: '.', since: 'yesterday' }, /--since takes a duration/],
    ['no line', { directory: '.', expect: ['berlin=1'] }, /--expect takes CLUSTER=SEQ:HASH/],
  ])('refuses %s', async (_, options, message) => {
    await expect(verify(options)).rejects.toThrow(message);
  });

  it('refuses a cluster without a line', async () => {
    await expect(verify({ directory: await copy(), cluster: 'typo' })).rejects.toThrow(/no line of a cluster typo/);
  });
});

describe('certmarshal journal search', () => {
  it('finds what a node asked for, and who asked for its name, the newest first', async () => {
    expect((await search({ directory: await copy(), hostile: true })).text.split('\n')[0]).toBe(
      '1 decision on a hostile request, in the last 30d (3 lines read)',
    );
    const { status, text } = await search({ directory: await copy(), node: 'worker-1' });
    expect(status).toBe(0);
    expect(text.split('\n')[0]).toBe('2 decisions about node worker-1, in the last 30d (3 lines read)');
    expect(text).toContain('✔ approve');
    expect(text).toContain('← Machine eksa-system/md-0-1');
    expect(text).toContain('hostile: 10.0.1.8 is owned by worker-8');
    expect(text).not.toContain('\u001b');
  });

  it.each<[Partial<JournalSearchOptions>, number]>([
    [{ hostile: true }, 1],
    [{ verdict: 'approve' }, 2],
    [{ csr: 'csr-2' }, 1],
    [{ cluster: 'berlin' }, 0],
    [{ since: '90d', cluster: 'berlin' }, 1],
    [{ since: '24h' }, 3],
    [{ since: '23h' }, 0],
    [{ node: 'nobody' }, 0],
  ])('finds by %j', async (options, found) => {
    const { text } = await search({ directory: await copy(), output: 'json', ...options });
    expect(text.split('\n').filter((line) => line !== '')).toHaveLength(found);
  });

  it.each([
    ['typo', 'no line of a cluster typo. The id is that of the fleet'],
    ['dublin', `no line of a cluster dublin. Did you mean --cluster ${CLUSTER}?`],
  ])('refuses %s, a cluster without a line', async (cluster, message) => {
    await expect(search({ directory: await copy(), cluster })).rejects.toThrow(message);
  });

  it('finds nothing of a cluster whose head is lost, and that was quiet', async () => {
    const directory = await copy((objects) => objects.delete('heads/berlin.json'));
    expect(await search({ directory, cluster: 'berlin' })).toMatchObject({ status: 0 });
  });

  it('marks a line that was changed', async () => {
    const directory = await copy(edit);
    expect((await search({ directory })).text).toContain('✖ this line was changed after it was written');
    const [, second] = (await search({ directory, output: 'json' })).text.split('\n').toSorted();
    expect(JSON.parse(second ?? '')).toHaveProperty('intact');
  });

  it('shows writes of rollouts and decisions of persons in the same table', async () => {
    const bucket = memoryBucket();
    await writerOf(bucket).append(
      CLUSTER,
      [rollout({ at: '2026-11-22T09:00:00.000Z' }), person({ because: 'moved \u001b[2J' })],
      never,
    );
    const directory = await copy((objects) => {
      objects.clear();
      for (const [key, bytes] of bucket.objects) objects.set(key, bytes);
    });
    const { text } = await search({ directory });
    expect(text).toContain('roll-control-plane');
    expect(text).toContain('KubeadmControlPlane eksa-system/berlin');
    expect(text).toContain(
      'rollout berlin-20261121, by the schedule: certificates expire 2026-12-30: admission webhook',
    );
    expect(text).toContain('hostile: IP 10.0.1.8 belongs to worker-8  SanNotOwned; decided by ada: moved \\u{1b}[2J');
    const [names = '', first = ''] = (await search({ directory, output: 'csv' })).text.split('\r\n');
    expect(names).toMatch(/,hash,kind,object,write,rollout,start,trigger,by,because,judged,failed,intact$/);
    expect(first).toContain(',rollout,KubeadmControlPlane eksa-system/berlin,roll-control-plane,berlin-20261121,');
  });

  it('makes a table that runs nothing in a spreadsheet', async () => {
    const rows = (await search({ directory: await copy(), output: 'csv' })).text.split('\r\n');
    expect(rows[0]).toMatch(/^at,cluster,csr,.*,intact$/);
    expect(rows.find((row) => row.includes('cmd()'))).toContain(",'=cmd(),");
  });

  it('says how many more there are', async () => {
    const { text } = await search({ directory: await copy(), limit: '1' });
    expect(text.split('\n')[0]).toContain('3 decisions');
    expect(text).toContain('The newest 1; --limit shows more');
  });

  it('says that something could not be read', async () => {
    const damage = (objects: Map<string, Buffer>): void => {
      for (const key of objects.keys()) if (key.startsWith('journal/2026-11')) objects.set(key, Buffer.from('what?\n'));
    };
    const { status, text } = await search({ directory: await copy(damage) });
    expect(status).toBe(1);
    expect(text).toContain('✖ 1 line or object could not be read');
  });
});

describe('docs/journal.md', () => {
  const page = readFileSync(fileURLToPath(new URL('../../../docs/journal.md', import.meta.url)), 'utf8');
  const line = readLine(chainLines(CHAIN_START, [entry(1)]).body.trimEnd())?.value ?? {};

  it('has a table for Athena with every field of a line, in this order and of its type', () => {
    const columns = [
      ...(/TABLE certmarshal_journal \((.*?)\n\)/s.exec(page)?.[1] ?? '').matchAll(/^ {2}`?(\w+)`? (.+?),?$/gm),
    ];
    const all: Readonly<Record<string, unknown>> = { ...rollout(), ...person(), ...line };
    const others = Object.keys(all).filter((name) => !(name in line));
    const names = columns.map(([, name = '']) => name);
    // A table that is there already gets new columns at its end.
    expect(names.slice(0, Object.keys(line).length)).toEqual(Object.keys(line));
    expect(names.slice(Object.keys(line).length).toSorted()).toEqual(others.toSorted());
    const typeOf = (value: unknown): RegExp =>
      typeof value === 'string'
        ? /^string$/
        : typeof value === 'number'
          ? /^(?:int|bigint)$/
          : typeof value === 'boolean'
            ? /^boolean$/
            : /^array</;
    for (const [, name = '', type = ''] of columns) expect(type).toMatch(typeOf(all[name]));
    const [evidence = {}] = entry(1).evidence;
    expect(columns.find(([, name]) => name === 'evidence')?.[2]).toBe(
      `array<struct<${Object.keys(evidence)
        .map((name) => `${name}:string`)
        .join(',')}>>`,
    );
  });

  it('says what every field is', () => {
    for (const name of Object.keys({ ...line, ...rollout(), ...person() }))
      expect(page).toMatch(new RegExp(`\\| .*\`${name}\`.* \\|`));
  });
});

describe('certmarshal journal', () => {
  it('is in the program', async () => {
    const directory = await copy();
    const { status, stdout } = await runCli(['journal', 'verify', '--directory', directory]);
    expect({ status, first: stdout.split('\n')[0] }).toEqual({ status: 0, first: '✔ 2 chains, 4 lines, unbroken' });
    const nowhere = {
      AWS_REGION: '',
      AWS_DEFAULT_REGION: '',
      AWS_CONFIG_FILE: '/nowhere',
      AWS_SHARED_CREDENTIALS_FILE: '/nowhere',
    };
    const unplaced = await runCli(['journal', 'verify', '--bucket', 'certmarshal-journal'], '', nowhere);
    expect(unplaced).toMatchObject({
      status: 2,
      stderr: expect.stringMatching(/^No Region is named\. Set AWS_REGION/),
    });
    const refused = await runCli(['journal', 'search', '--limit', '0', '--directory', directory]);
    expect(refused).toMatchObject({ status: 2, stderr: expect.stringContaining('--limit takes a number') });
  });
});
