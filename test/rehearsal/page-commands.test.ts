import { execFile, spawnSync } from 'node:child_process';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { afterAll, beforeAll, describe, expect, it } from 'vitest';
import { realComponents } from '../control-plane/real.ts';
import { recordCommands, shellBlocks } from '../support/page-shell.ts';
import { installAwsCli } from './aws-cli.ts';
import { tool } from './tool.ts';

const commands = ['docs/uninstall.md', 'docs/field-test.md'].flatMap(
  (page) => recordCommands(shellBlocks(page)).commands,
);
const of = (program: string): readonly (readonly string[])[] =>
  commands.flatMap(([name, ...words]) => (name === program ? [words] : []));

const NOWHERE = 'http://127.0.0.1:1';
const aws = await tool('commands of the AWS CLI in pages', installAwsCli);
const kubernetes = await realComponents('commands of kubectl in pages', 'kubectl');

/** All of them in one process: each new one reads the models of AWS for a second. */
const TRY_ALL = `
import contextlib, io, json, sys
from awscli.clidriver import create_clidriver
tried = []
for words in json.load(sys.stdin):
    said = io.StringIO()
    with contextlib.redirect_stderr(said), contextlib.redirect_stdout(said):
        try: create_clidriver().main(words)
        except SystemExit: pass
    tried.append(said.getvalue())
json.dump(tried, sys.stdout)
`;

describe('the commands of pages that are blocks to paste', () => {
  let directory: string;
  beforeAll(() => {
    directory = mkdtempSync(join(tmpdir(), 'certmarshal-page-commands-'));
    writeFileSync(join(directory, 'versions.json'), '{"Objects":[]}');
    // An archive with nothing in it: the record of its end.
    writeFileSync(join(directory, 'field-test.zip'), `PK\x05\x06${'\0'.repeat(18)}`);
  });
  afterAll(() => rmSync(directory, { recursive: true, force: true }));

  it.skipIf(aws.missing)(
    'are understood by the AWS CLI, down to the shapes of their values',
    async () => {
      const child = promisify(execFile)(join(aws.path, 'python3'), ['-c', TRY_ALL], {
        cwd: directory,
        maxBuffer: 16 * 1024 * 1024,
        env: {
          HOME: directory,
          AWS_ENDPOINT_URL: NOWHERE,
          AWS_REGION: 'eu-central-1',
          AWS_DEFAULT_REGION: 'eu-central-1',
          AWS_ACCESS_KEY_ID: 'none',
          AWS_SECRET_ACCESS_KEY: 'none',
          AWS_MAX_ATTEMPTS: '1',
          AWS_EC2_METADATA_DISABLED: 'true',
        },
      });
      const wrong = ['eks', 'delete-access-entry', '--cluster', 'dublin'];
      child.child.stdin?.end(JSON.stringify([...of('aws'), wrong]));
      const tried: readonly string[] = JSON.parse((await child).stdout);
      const strange = [...of('aws'), wrong].flatMap((words, index) =>
        /Could not connect to the endpoint|Connection refused/.test(tried[index] ?? '')
          ? []
          : [{ line: words.join(' '), said: tried[index] }],
      );
      expect(strange).toEqual([{ line: wrong.join(' '), said: expect.stringContaining('--principal-arn') }]);
    },
    5 * 60_000,
  );

  it.skipIf(kubernetes.missing)('are understood by kubectl', () => {
    const { kubectl = '' } = kubernetes.missing === undefined ? kubernetes.binaries : {};
    const wrong = ['get', 'csr', '--no-such-option'];
    const strange = [...of('kubectl'), wrong].flatMap((words) => {
      const { stderr } = spawnSync(kubectl, ['--server', NOWHERE, ...words], {
        cwd: directory,
        encoding: 'utf8',
        env: { HOME: directory },
        input: '{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"}}',
      });
      return /refused/.test(stderr) ? [] : [{ line: words.join(' '), stderr }];
    });
    expect(strange).toEqual([{ line: wrong.join(' '), stderr: expect.stringContaining('unknown flag') }]);
  });
});
