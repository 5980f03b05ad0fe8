import { spawnSync } from 'node:child_process';
import { existsSync, readdirSync, readFileSync } from 'node:fs';
import { basename, dirname, join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { describe, expect, it } from 'vitest';
import { parse } from 'yaml';
import { DEFAULT_PORTS } from '../../lambdas/audit/audit-target.ts';
import type { AwsErrorKind } from '../../lambdas/aws/errors.ts';
import { formatDuration } from '../../lambdas/config/duration.ts';
import type { KubernetesErrorKind } from '../../lambdas/kubernetes/errors.ts';
import { CHECK_IDS } from '../../lambdas/rollout/checks.ts';
import { HOLD_IDS } from '../../lambdas/rollout/hold-reasons.ts';
import { ALARMS, type AlarmEntry, type AlarmId, alarmRunbook } from '../../lambdas/tables/alarms.ts';
import { FINDING_CODES, type FindingCode, runbookOf } from '../../lambdas/tables/finding-codes.ts';
import { REASONS, RECOVERY_REASONS } from '../../lambdas/tables/reasons.ts';
import type { HandshakeFailureKind } from '../../lambdas/tls/handshake.ts';
import { kebab, percent } from '../../lambdas/words.ts';
import { recordCommands, shellBlocks } from '../support/page-shell.ts';

/** All kinds, so that a new one does not compile without a row in a runbook. */
const HANDSHAKE_FAILURES: Readonly<Record<HandshakeFailureKind, true>> = {
  refused: true,
  unreachable: true,
  name: true,
  timeout: true,
  'not-tls': true,
  'old-tls': true,
  closed: true,
  'no-certificate': true,
  'too-large': true,
  forbidden: true,
  aborted: true,
};
/** An audit writes nothing that could be in conflict, and calls what was stopped a timeout. */
const API_ERRORS: Readonly<Record<Exclude<KubernetesErrorKind, 'aborted' | 'conflict'>, true>> = {
  unauthorized: true,
  credentials: true,
  forbidden: true,
  'not-found': true,
  gone: true,
  throttled: true,
  server: true,
  unreachable: true,
  timeout: true,
  certificate: true,
  'certificate-expired': true,
  unresolved: true,
  'too-large': true,
  'not-kubernetes': true,
  invalid: true,
};
const AWS_ERRORS: Readonly<Record<Exclude<AwsErrorKind, 'aborted' | 'conflict'>, true>> = {
  denied: true,
  expired: true,
  clock: true,
  region: true,
  'not-found': true,
  throttled: true,
  invalid: true,
  unavailable: true,
};

const ROOT = fileURLToPath(new URL('../../', import.meta.url));
const FOLDER = 'docs/runbooks';
const codes = Object.keys(FINDING_CODES) as FindingCode[];
/** What more than one finding leads to. */
const PROCEDURES = ['recovery.md', 'renew-in-place.md', 'replace-node.md'];
/** A section for each check and hold of a rollout. Its blocks use shell functions of its head. */
const ROLLOUTS = 'rollouts.md';
/** Of reasons of an approval, of rollouts, and the list of those of alarms; those of findings have sections that a test can hold. */
const OTHERS = ['alarms/README.md', ...PROCEDURES, ROLLOUTS, 'san-not-owned.md'];
const LIST = 'README.md';
const ALARM_LIST = 'alarms/README.md';

/** Its severity and threshold are the defaults. */
function alarmRow(id: AlarmId): string {
  const entry: AlarmEntry = ALARMS[id];
  const { atLeast, of } = entry.datapoints;
  return `| [${id}](${kebab(id)}.md) | ${entry.severity} | ${levelOf(entry)} | ${atLeast} of ${of} | ${entry.meaning} |`;
}

function levelOf(entry: AlarmEntry): string {
  const { threshold, setting } = entry;
  if (typeof setting === 'object') return `${percent(threshold)} of ${setting.shareOf}`;
  if (setting === 'seconds')
    return `${formatDuration(threshold)}${'firesAt' in entry ? entry.firesAt.slice(entry.firesAt.indexOf(', or ')) : ''}`;
  if (setting === 'burn') return `${threshold} × the allowed burn`;
  return setting === 'none' && 'firesAt' in entry ? entry.firesAt : `${threshold}`;
}

const pagesIn = (folder: string) =>
  readdirSync(`${ROOT}${FOLDER}/${folder}`)
    .filter((page) => page.endsWith('.md') && page !== LIST)
    .map((page) => `${folder}${page}`)
    .toSorted();
const ofAlarms = pagesIn('alarms/');
const ofRollouts = recordCommands(shellBlocks(`${FOLDER}/${ROLLOUTS}`));
const pages = [...pagesIn(''), ...ofAlarms];
const rolloutIds = [...CHECK_IDS, ...Object.keys(HOLD_IDS)];
const alarms = Object.keys(ALARMS) as AlarmId[];
const textOf = (page: string) => readFileSync(`${ROOT}${FOLDER}/${page}`, 'utf8');
const blocksIn = (page: string) => [...textOf(page).matchAll(/^```sh\n([^]*?)^```$/gm)].map(([, block = '']) => block);
const ofFindings = pagesIn('').filter((page) => !OTHERS.includes(page));
/** Whose variables are set at the head of a page, and whose commands are known. */
const pasted = [...ofFindings, ...ofAlarms, ROLLOUTS, ...PROCEDURES];

/** Quoted parts are one word, and of a pipe each part is a command. Enough for what is written there. */
function commandsIn(block: string): readonly (readonly string[])[] {
  return block
    .split('\n')
    .filter((line) => !line.startsWith('#'))
    .flatMap((line) => splitOutsideQuotes(line, /[|;]|&&/y))
    .map((command) => splitOutsideQuotes(command, /\s+/y).filter((word) => word !== ''))
    .map((words) => words.filter((word) => !/^\d?[<>]/.test(word)))
    .map((words) => words.slice(words.findIndex((word) => !/^[A-Z_]+=/.test(word)) >>> 0))
    .map((words) => (words[0] === 'xargs' || words[0] === 'sudo' ? words.slice(1) : words))
    .filter(([first]) => first !== undefined);
}

function splitOutsideQuotes(text: string, separator: RegExp): readonly string[] {
  const parts = [''];
  let quote: string | undefined;
  for (let at = 0; at < text.length; at += 1) {
    const character = text[at] ?? '';
    separator.lastIndex = at;
    const found = quote === undefined ? separator.exec(text) : null;
    if (found !== null) {
      parts.push('');
      at += found[0].length - 1;
      continue;
    }
    if (quote === undefined ? character === '"' || character === "'" : character === quote)
      quote = quote === undefined ? character : undefined;
    parts[parts.length - 1] += character;
  }
  return parts;
}

const commandsOf = (page: string): readonly (readonly string[])[] =>
  page === ROLLOUTS ? ofRollouts.commands : blocksIn(page).flatMap(commandsIn);

/** What a runbook may run. The first words after options that stand before them. */
const VERBS: Readonly<Record<string, readonly string[]>> = {
  kubectl: (
    'get,describe,logs,annotate,auth can-i,rollout restart,rollout status,' +
    'delete csr,delete machines.cluster.x-k8s.io,drain,config view,diff'
  ).split(','),
  aws: [
    'autoscaling terminate-instance-in-auto-scaling-group',
    ...serviceCalls('eks', 'create-access-entry delete-access-entry describe-access-entry describe-cluster'),
    ...serviceCalls('eks', 'describe-certificate-authority list-certificate-authorities'),
    ...serviceCalls('eks', 'describe-update update-nodegroup-version'),
    ...serviceCalls('cloudformation', 'describe-stack-events describe-stack-resources'),
    ...serviceCalls('cloudwatch', 'describe-alarm-contributors describe-alarms get-metric-data set-alarm-state'),
    ...serviceCalls('lambda', 'get-account-settings get-policy'),
    ...serviceCalls('s3', 'cp ls presign sync'),
    ...serviceCalls('s3api', 'get-bucket-policy list-object-versions'),
    ...serviceCalls('sqs', 'list-queues receive-message'),
    'logs tail',
    'scheduler list-schedules',
    'sns list-subscriptions-by-topic',
  ],
  eksctl: ['anywhere renew certificates'],
  clusterctl: ['alpha rollout restart'],
  openssl: ['x509', 's_client'],
};
function serviceCalls(service: string, calls: string): readonly string[] {
  return calls.split(' ').map((call) => `${service} ${call}`);
}
/** By which version of each tool its commands were checked: its source, or its `--help`. */
const CHECKED: Readonly<Record<string, string>> = {
  aws: 'aws (API models of botocore 1.43.106)',
  clusterctl: 'clusterctl 1.14',
  eksctl: 'eksctl anywhere 0.26.1',
  etcdctl: 'etcdctl 3.6',
  etcdutl: 'etcdutl 3.6',
  kubeadm: 'kubeadm 1.37',
  kubectl: 'kubectl 1.37',
  openssl: 'openssl 3.0',
};
const TOOLS = ['awk', 'base64', 'date', 'export', 'grep', 'tail', 'umask'];
/** Global options of kubectl that take a word. */
const WITH_WORD = new Set(['--kubeconfig', '-n', '--namespace', '--context']);

function verbOf(words: readonly string[]): string {
  const rest: string[] = [];
  for (let at = 1; at < words.length; at += 1) {
    const word = words[at] ?? '';
    if (WITH_WORD.has(word)) at += 1;
    else rest.push(word);
  }
  return rest.join(' ');
}

/** Commands that have commands of their own. */
const GROUPS: ReadonlySet<string> = new Set(['credentials', 'rollout']);

/** Options that `--help` of a command names. */
const helps = new Map<string, ReadonlySet<string>>();
function optionsOf(command: string): ReadonlySet<string> {
  const known = helps.get(command);
  if (known !== undefined) return known;
  const help = spawnSync(process.execPath, [`${ROOT}bin/certmarshal.ts`, ...command.split(' '), '--help'], {
    encoding: 'utf8',
  });
  if (help.status !== 0 || !help.stdout.startsWith(`Usage: certmarshal ${command} `))
    throw new Error(`certmarshal ${command} --help: ${help.stderr}${help.stdout.slice(0, 80)}`);
  const options = new Set([...help.stdout.matchAll(/^ {2}(?:-\w, )?(--[\w-]+)/gm)].map(([, option = '']) => option));
  helps.set(command, options);
  return options;
}

/** Words of code in the first cells of tables. */
const firstCellsOf = (page: string) =>
  new Set(
    [...textOf(page).matchAll(/^\| (`[^|]+`) \|/gm)].flatMap(([, cell = '']) =>
      [...cell.matchAll(/`([^`]+)`/g)].map(([, kind = '']) => kind),
    ),
  );

/** Each part is there, after the one before. */
function expectOrder(page: string, parts: readonly string[]): void {
  const places = parts.map((part) => textOf(page).indexOf(part));
  expect(places.filter((place) => place === -1)).toEqual([]);
  expect(places).toEqual(places.toSorted((a, b) => a - b));
}

describe('runbooks', () => {
  it('are there for every code of a finding, and for nothing that there is not', () => {
    const others = [...PROCEDURES, ROLLOUTS, 'san-not-owned.md'].map((page) => `${FOLDER}/${page}`);
    expect(pagesIn('').map((page) => `${FOLDER}/${page}`)).toEqual([...codes.map(runbookOf), ...others].toSorted());
  });

  it('are there for every alarm, and for nothing that there is not', () => {
    expect(ofAlarms.map((page) => `${FOLDER}/${page}`)).toEqual(alarms.map(alarmRunbook).toSorted());
    // Copy the rows from here.
    const rows = textOf(ALARM_LIST)
      .split('\n')
      .filter((line) => line.startsWith('| ['));
    expect(rows).toEqual(alarms.map(alarmRow));
    const headings = alarms.map((id) => textOf(alarmRunbook(id).slice(FOLDER.length + 1)).split('\n')[0]);
    for (const id of alarms) expect(headings.join('\n')).toContain(`# ${id}: `);
  });

  it.each(ofAlarms)(
    '%s says what it means, what to check first, how to decide, when it is over and when to escalate',
    (page) => {
      const id = alarms.find((alarm) => alarmRunbook(alarm) === `${FOLDER}/${page}`) ?? 'AuditStale';
      const howBad = ALARMS[id].severity === 'critical' ? '\n**How bad.** Critical' : '\n**How bad.** Warning';
      const sections = ['Check first', 'Decide', 'Verify', 'When to escalate'].map((title) => `\n## ${title}\n`);
      expectOrder(page, ['\n**What it means.** ', howBad, ...sections]);
      expect(blocksIn(page).length).toBeGreaterThanOrEqual(1);
      expect(blocksIn(page).length).toBeLessThanOrEqual(4);
    },
  );

  it('have one page for rollouts, with a section for every check and hold in their order, and no other', () => {
    const [head = '', ...sections] = textOf(ROLLOUTS).split('\n## ');
    expect(sections.map((section) => section.split('\n')[0])).toEqual(rolloutIds);
    for (const section of sections) {
      expect(section).toMatch(/^[a-z-]+\n\n\*\*[^*]+\*\*/);
      expect(section).toContain('\n```sh\n');
    }
    for (const line of [
      'rollout abort --yes',
      'rollout status',
      'rollout plan --verbose',
      'kcp annotate certmarshal.dev/rollout-hold-',
    ])
      expect(head).toContain(`\n${line}\n`);
    // What is pasted first only sets and defines.
    const defining = blocksIn(ROLLOUTS).filter((block) => block.includes('() {'));
    expect(defining).toHaveLength(1);
    const lines = defining[0]?.split('\n') ?? [];
    expect(lines.filter((line) => !/^$|^(?:export )?[A-Z_]+=\S+$|^\w+\(\) \{ .+; \}$/.test(line))).toEqual([]);
  });

  it('links to sections of the page for rollouts that exist', () => {
    const places = [...pages, ALARM_LIST, LIST].map((page) => `${FOLDER}/${page}`);
    const links = ['README.md', 'docs/rollouts.md', ...places].flatMap((place) =>
      [...readFileSync(`${ROOT}${place}`, 'utf8').matchAll(/\]\(([^)#:]*)#([^)]+)\)/g)]
        .filter(([, to = '']) => join(dirname(place), to === '' ? basename(place) : to) === `${FOLDER}/${ROLLOUTS}`)
        .map(([, , section]) => section),
    );
    expect(links.length).toBeGreaterThan(10);
    expect(links.filter((section = '') => !rolloutIds.some((id) => id === section))).toEqual([]);
  });

  it('of rollouts have commands that bash reads with the functions of the head', () => {
    expect(ofRollouts.problems).toEqual([]);
    expect(shellBlocks(`${FOLDER}/${ROLLOUTS}`)).toHaveLength(blocksIn(ROLLOUTS).length);
    const defined = [...textOf(ROLLOUTS).matchAll(/^(\w+)\(\) \{/gm)].map(([, name]) => name);
    const known = new Set([...defined, 'aws', 'base64', 'certmarshal', 'kubectl', 'openssl']);
    const lines = blocksIn(ROLLOUTS).flatMap((block) => block.split('\n').filter((line) => !line.includes('() {')));
    const strange = lines.flatMap(commandsIn).filter(([first = '']) => first !== 'export' && !known.has(first));
    expect(strange).toEqual([]);
  });

  it('of rollouts ask about the management cluster by its kubeconfig, and about the right cluster', () => {
    const calls = ofRollouts.commands.filter(([tool, group]) => tool === 'certmarshal' && group === 'rollout');
    const needed = ['--kubeconfig', '--management-kubeconfig', '--cluster'];
    expect(calls.length).toBeGreaterThan(30);
    expect(calls.filter((words) => !needed.every((option) => words.includes(option)))).toEqual([]);
    const management = /cluster\.x-k8s\.io|anywhere\.eks\.amazonaws\.com|etcdadm|certmarshal-rollout/;
    const elsewhere = ofRollouts.commands.filter(
      (words) => words[0] === 'kubectl' && management.test(words.join(' ')) && !words.includes('management.yaml'),
    );
    expect(elsewhere).toEqual([]);
  });

  it('of a recovery explains reasons that a recovery can have', () => {
    const rows = [...firstCellsOf('recovery.md')].filter((cell) => /^[A-Z][A-Za-z]+$/.test(cell));
    const known: Readonly<Record<string, unknown>> = REASONS;
    expect(rows.filter((reason) => known[reason] === undefined)).toEqual([]);
    const missing = Object.keys(RECOVERY_REASONS).filter((reason) => !rows.includes(reason));
    expect(missing).toEqual([]);
  });

  it('are named by their code, which is a reason of an approval or a code of a finding', () => {
    const headings = new Map(codes.map((code) => [runbookOf(code), `# ${code}: `]));
    const wrong = ofFindings.filter((page) => !textOf(page).startsWith(headings.get(`${FOLDER}/${page}`) ?? '?'));
    expect(wrong).toEqual([]);
    expect(REASONS.SanNotOwned.next).toBe('certmarshal runbook san-not-owned');
  });

  it('are listed by their codes, each with its own heading', () => {
    const cells = textOf(LIST).matchAll(/^\| \[([^\]]+)\]\(([^)]+)\) \| (.+) \|$/gm);
    const rows = [...cells].map(([, name, page, story]) => ({ name, page, story }));
    const headings = ofFindings.map((page) => {
      const [, name, story] = /^# (\w+): (.+)\n/.exec(textOf(page)) ?? [];
      return { name, page, story };
    });
    const listed = rows.filter(({ page = '' }) => !OTHERS.includes(page));
    expect(listed).toEqual(headings.toSorted((a, b) => ((a.name ?? '') < (b.name ?? '') ? -1 : 1)));
    expect(rows.flatMap(({ page = '' }) => (OTHERS.includes(page) ? page : [])).toSorted()).toEqual(OTHERS);
  });

  it.each([
    ['way in which a handshake fails', 'unreachable.md', HANDSHAKE_FAILURES],
    ['error of an API server', 'source-unread.md', API_ERRORS],
    ['error of AWS', 'source-unread.md', AWS_ERRORS],
  ])('say of every %s what to do', (_, page, kinds) => {
    const rows = firstCellsOf(page);
    expect(Object.keys(kinds).filter((kind) => !rows.has(kind))).toEqual([]);
    expect(textOf('unreachable.md')).toContain('[source-unread.md](source-unread.md) has every problem');
  });

  it('name every port that a handshake of an audit needs, as the page about deploying does', () => {
    const deploy = readFileSync(`${ROOT}docs/deploy.md`, 'utf8');
    for (const port of Object.values(DEFAULT_PORTS)) {
      expect({ port, runbook: textOf('unreachable.md').includes(String(port)) }).toEqual({ port, runbook: true });
      expect({ port, deploy: deploy.includes(String(port)) }).toEqual({ port, deploy: true });
    }
  });

  it.each(ofFindings)('%s answers what a person at night asks, in that order', (page) => {
    const sections = ['Check first', 'Fix it', 'Verify', 'Do not'].map((title) => `\n## ${title}\n`);
    expectOrder(page, ['\n**What it means.** ', '\n**How bad.** ', ...sections]);
    const between = (from: string, to: string) => textOf(page).split(from)[1]?.split(to)[0] ?? '';
    expect(between('\n## Check first\n', '\n## ')).toContain('```sh');
    const verified = between('\n## Verify\n', '\n## ');
    const command = verified.includes('*Check first*') ? between('\n## Check first\n', '\n## ') : verified;
    expect(command).toMatch(/^certmarshal (?:audit|probe) /m);
    expect(between('\n## Do not\n', '\n## ').trim()).toMatch(/^- Do not /);
  });

  it('have commands that a shell can read', () => {
    const blocks = pages.flatMap((page) => blocksIn(page).map((block) => ({ page, block })));
    // From one small process: each that this one starts is a copy of all its memory at first.
    const script = 'for block; do bash -n <<< "$block" 2> /dev/null && echo ok || echo wrong; done';
    const { stdout } = spawnSync('bash', ['-c', script, 'bash', ...blocks.map(({ block }) => block), 'if then'], {
      encoding: 'utf8',
    });
    const said = stdout.trimEnd().split('\n');
    expect(said).toHaveLength(blocks.length + 1);
    expect(said.at(-1)).toBe('wrong');
    expect(blocks.filter((_, index) => said[index] !== 'ok')).toEqual([]);
    // A word in angle brackets is a redirection.
    expect(blocks.filter(({ block }) => /<[A-Za-z-]+>/.test(block))).toEqual([]);
  });

  it.each(pasted)('%s uses no variable that it has not set before', (page) => {
    const set = new Set<string>();
    const unset: string[] = [];
    for (const line of blocksIn(page).join('\n').split('\n')) {
      const name = /^(?:export )?([A-Z_]+)=/.exec(line)?.[1];
      for (const [, used = ''] of line.matchAll(/\$\{?([A-Z_]+)/g)) if (!set.has(used)) unset.push(used);
      if (name !== undefined) set.add(name);
    }
    expect(unset).toEqual([]);
  });

  it.each(pasted)('%s runs only what is known', (page) => {
    const strange = commandsOf(page).filter((words) => {
      const [tool = ''] = words;
      if (tool === 'certmarshal' || TOOLS.includes(tool)) return false;
      return VERBS[tool]?.some((verb) => `${verbOf(words)} `.startsWith(`${verb} `)) !== true;
    });
    expect(strange).toEqual([]);
  });

  it('say once by which versions of other tools their commands were checked', () => {
    const code = pages
      .flatMap((page) => [...textOf(page).matchAll(/^```sh\n([^]*?)^```$|^ {4,}(.+)$|`([^`\n]+)`/gm)])
      .map(([text]) => text)
      .join('\n');
    const used = Object.keys(CHECKED).filter((tool) => new RegExp(`(?:^|[\\s(|\\x60])${tool} [a-z-]`, 'm').test(code));
    const said = /^Commands checked against (.+)\.$/m.exec(textOf(LIST))?.[1];
    expect(said).toBe(used.map((tool) => CHECKED[tool]).join(', '));
    expect(pages.filter((page) => textOf(page).includes('Commands checked against'))).toEqual([]);
  });

  it('point only to pages of EKS Anywhere that there are, as of 0.26.1', () => {
    const site = 'https://anywhere.eks.amazonaws.com/docs/clustermgmt';
    const links = pages.flatMap((page) =>
      [...textOf(page).matchAll(/\]\((https:\/\/anywhere\.[^)]+)\)/g)].map(([, to]) => to),
    );
    expect(new Set(links)).toEqual(
      new Set([
        `${site}/certificate-management/manual-steps-renew-certs/`,
        `${site}/etcd-backup-restore/external-etcd-backup/bottlerocket-etcd-backup/`,
      ]),
    );
  });

  const renewing = pages.filter((page) => /^.*eksctl anywhere renew certificates -f/m.test(textOf(page)));

  it.each(renewing)('%s renews in place by the management cluster, and looks at the Secret afterwards', (page) => {
    const calls = [...textOf(page).matchAll(/^.*eksctl anywhere renew certificates -f.*$/gm)].map(([line]) =>
      line.trim(),
    );
    expect(calls.filter((call) => !call.startsWith('KUBECONFIG="$MANAGEMENT" eksctl '))).toEqual([]);
    const first = textOf(page).indexOf('eksctl anywhere renew certificates -f');
    expect(textOf(page).indexOf('get secret "$CLUSTER-apiserver-etcd-client"')).toBeGreaterThan(first);
  });

  it('have one page that renews in place, and one that replaces a node; others point there', () => {
    expect(renewing).toEqual(['renew-in-place.md']);
    for (const page of ['certificate-expired.md', 'certificate-expiring.md', 'recovery.md', ROLLOUTS])
      expect(textOf(page)).toContain('renew-in-place.md)');
    const replacing = pages.filter((page) =>
      /clusterctl alpha rollout|terminate-instance/.test(blocksIn(page).join('')),
    );
    expect(replacing).toEqual(['replace-node.md']);
    for (const page of ['certificate-expired.md', 'kubelet-renewal-overdue.md', 'no-valid-certificate.md'])
      expect(textOf(page)).toContain('(replace-node.md)');
  });

  // aws/eks-anywhere pkg/certificates/renewerbottlerocket.go: v0.23.6 and v0.24.1 wait for static pods to go, v0.24.0 does not.
  it('name the versions that renew Bottlerocket', () => {
    const versions = '0.23.6 or later,? but not 0.24.0';
    expect(textOf('renew-in-place.md')).toMatch(new RegExp(`Bottlerocket ${versions}`));
    expect(readFileSync(`${ROOT}docs/works-with.md`, 'utf8')).toMatch(new RegExp(`Bottlerocket ${versions}`));
    const others = pages.filter(
      (page) => page !== 'renew-in-place.md' && /Bottlerocket[^.]{0,20} 0\.2\d/.test(textOf(page)),
    );
    expect(others).toEqual([]);
  });

  // Sources of the users, all aws/eks-anywhere@v0.26.1 pkg: constants/constants.go:107-108, providers/tinkerbell/ssh.go:10, api/v1alpha1/nutanixmachineconfig.go:54 and
  // cloudstackmachineconfig.go:10.
  it('have a file that eksctl anywhere takes, and the users of SSH', () => {
    const page = 'renew-in-place.md';
    const users = ['`capv` on vSphere', '`eksa` on Nutanix', '`capc` on CloudStack', '`ec2-user` on bare metal and'];
    for (const user of users) expect(textOf(page)).toContain(user);
    const [, file = ''] = /^```yaml\n([^]*?)^```$/m.exec(textOf(page)) ?? [];
    const nodes = { nodes: expect.any(Array), ssh: { sshUser: expect.any(String), sshKey: expect.any(String) } };
    expect(parse(file)).toEqual({
      clusterName: expect.any(String),
      managementCluster: expect.any(String),
      os: expect.stringMatching(/^(?:ubuntu|redhat|bottlerocket)$/),
      controlPlane: nodes,
      etcd: nodes,
    });
    expect(file).toContain('os: ubuntu # or redhat, bottlerocket');
  });

  // aws/eks-anywhere@v0.26.1 docs/content/en/docs/getting-started/optional/kubeletconfig.md:46: without `kind` it is not processed.
  it('tell all of what lets a kubelet of EKS Anywhere ask', () => {
    const [, file = ''] = /^```yaml\n([^]*?)^```$/m.exec(textOf('certificate-expired.md')) ?? [];
    const kubelet = { kubeletConfiguration: { kind: 'KubeletConfiguration', serverTLSBootstrap: true } };
    expect(parse(file)).toEqual({
      apiVersion: expect.stringMatching(/^anywhere\.eks\.amazonaws\.com\//),
      kind: 'Cluster',
      metadata: { name: 'berlin-prod' },
      spec: { controlPlaneConfiguration: kubelet, workerNodeGroupConfigurations: [{ name: 'md-0', ...kubelet }] },
    });
    for (const page of ['README.md', 'docs/deploy.md']) {
      const text = readFileSync(`${ROOT}${page}`, 'utf8');
      expect(text).toMatch(
        /`serverTLSBootstrap: true`[^]*?(?:rolls|replaces) (?:the|these) nodes[^]*?Bottlerocket[^]*?ntil then there is nothing\s+to approve/,
      );
      expect(text).toMatch(/\((?:docs\/)?runbooks\/certificate-expired\.md\)/);
    }
  });

  it('explain what a kubelet says whose request nobody approved, where people look', () => {
    const sentence = 'certificate request was not signed: timed out waiting for the condition';
    expect(textOf('request-pending.md').split('\n## ')[0]).toContain(sentence);
    for (const page of [LIST, 'kubelet-renewal-overdue.md', 'renewal-errors.md'])
      expect(textOf(page)).toMatch(new RegExp(`${sentence}.*\\(request-pending\\.md\\)`));
    const dailyUse = readFileSync(`${ROOT}docs/daily-use.md`, 'utf8');
    expect(dailyUse).toMatch(new RegExp(`${sentence}.*\\(runbooks/request-pending\\.md\\)`));
  });

  it.each(pages)('%s names the Region of EKS, and asks nothing of one system only', (page) => {
    const eks = commandsOf(page).filter(([tool, service]) => tool === 'aws' && service === 'eks');
    expect(eks.filter((words) => !words.includes('--region')).map((words) => words.join(' '))).toEqual([]);
    // GNU has it, BSD and macOS have not.
    expect(blocksIn(page).filter((block) => /\bdate\b[^\n]* -d\b/.test(block))).toEqual([]);
  });

  /** What a command of ours has to be told so that it answers about the right cluster or bucket. */
  const NEEDED: Readonly<Record<string, readonly string[]>> = {
    audit: ['--kubeconfig', '--cluster'],
    run: ['--kubeconfig', '--cluster'],
    explain: ['--kubeconfig', '--cluster'],
    doctor: ['--fleet'],
    'rollout plan': ['--kubeconfig', '--management-kubeconfig', '--cluster'],
    'rollout status': ['--kubeconfig', '--management-kubeconfig', '--cluster'],
  };

  /** Where the cluster is one of Cluster API. */
  const CLUSTER_API = ['coverage-shrunk.md', 'stale-annotation.md', 'alarms/rollout-needed.md'];
  /** Where it is one of EKS. */
  const EKS = ['authority-distribution-failed.md', 'successor-not-trusted.md'];
  const WITHOUT = '# Manages itself: MANAGEMENT=$KUBECONFIG. EKS: without --management-kubeconfig.\n';

  it.each([...ofFindings, ...ofAlarms])(
    '%s asks the management cluster, and says once how EKS does without',
    (page) => {
      const lines = blocksIn(page)
        .flatMap((block) => block.split('\n'))
        .filter((line) => /^certmarshal (?:audit|run|explain) /.test(line));
      const managed = lines.filter((line) => line.includes(' --management-kubeconfig "$MANAGEMENT"'));
      const sets = /^MANAGEMENT=/m.test(textOf(page));
      expect(managed).toEqual(sets && !EKS.includes(page) ? lines : []);
      const isSaid = managed.length > 0 && !CLUSTER_API.includes(page);
      expect(textOf(page).split(`${WITHOUT}MANAGEMENT=`).length - 1).toBe(isSaid ? 1 : 0);
    },
  );

  it.each(ofAlarms)(
    '%s has commands that name their cluster or bucket, and sets nothing that it does not use',
    (page) => {
      const incomplete: string[] = [];
      const text = blocksIn(page).join('');
      for (const [, name = ''] of text.matchAll(/^([A-Z_]+)=/gm))
        if (!text.includes(`$${name}`)) incomplete.push(`${name} is set for nothing`);
      for (const [tool, first = '', ...words] of commandsIn(text)) {
        if (tool !== 'certmarshal') continue;
        const command = GROUPS.has(first) ? `${first} ${words[0]}` : first;
        for (const option of NEEDED[command] ?? [])
          if (!words.includes(option)) incomplete.push(`certmarshal ${command} without ${option}`);
      }
      expect(incomplete).toEqual([]);
    },
  );

  it('have no id of a cluster that someone could paste, and say where doctor runs', () => {
    const ids = pages.flatMap((page) => [...textOf(page).matchAll(/^ID=(.*)$/gm)].map(([, id]) => id));
    expect(ids.length).toBeGreaterThan(5);
    expect(new Set(ids)).toEqual(new Set(['the-id-in-the-message']));
    const elsewhere = ofAlarms.filter(
      (page) =>
        blocksIn(page).some((block) => block.includes('certmarshal doctor --fleet fleet.yaml --cluster')) &&
        !/directory of your `fleet\.yaml`, with credentials and Region\s+of the hub account/.test(textOf(page)),
    );
    expect(elsewhere).toEqual([]);
  });

  it('say which kinds of failures make a cluster unreadable, as its message has them', () => {
    const [, decide = ''] = textOf('alarms/cluster-unreadable.md').split('## Decide');
    const kinds = [
      'unauthorized',
      'forbidden',
      'unreachable',
      'timeout',
      'certificate',
    ] satisfies KubernetesErrorKind[];
    for (const kind of kinds) expect(decide).toContain(`\`${kind}\``);
  });

  it('say at once how a kubelet is made to ask', () => {
    for (const page of ['alarms/kubelet-overdue.md', 'kubelet-renewal-overdue.md']) {
      expect(textOf(page)).toContain('`sudo systemctl restart kubelet`');
      expect(textOf(page)).toContain('kubectl get nodes -o wide | grep -w "$ADDRESS"');
      expect(textOf(page)).toContain('certmarshal explain --node "$NODE"');
    }
  });

  it('give certmarshal only options that it has', () => {
    const calls = pages.flatMap((page) => commandsOf(page).filter(([tool]) => tool === 'certmarshal'));
    expect(calls.length).toBeGreaterThan(codes.length);
    const wrong = calls.flatMap(([, first = '', ...words]) => {
      const command = GROUPS.has(first) ? `${first} ${words[0] ?? ''}` : first;
      return words
        .filter((word) => word.startsWith('--') && !optionsOf(command).has(word.split('=')[0] ?? ''))
        .map((word) => `certmarshal ${command} ${word}`);
    });
    expect(wrong).toEqual([]);
  });

  it('remedies of rollouts name commands of certmarshal that there are', () => {
    const files = ['lambdas/rollout', 'lambdas/rollout/checks'].flatMap((folder) =>
      readdirSync(`${ROOT}${folder}`)
        .filter((file) => file.endsWith('.ts'))
        .map((file) => `${ROOT}${folder}/${file}`),
    );
    const texts = files.flatMap((file) =>
      readFileSync(file, 'utf8')
        .split('\n')
        // A nonce of an EtcdadmCluster is a comment, too.
        .filter((line) => !/^\s*(?:\/\/|\/?\*)|true # certmarshal/.test(line)),
    );
    const { stdout: help } = spawnSync(process.execPath, [`${ROOT}bin/certmarshal.ts`, '--help'], { encoding: 'utf8' });
    const verbs = new Set([...help.matchAll(/^ {2}([a-z]+) /gm)].map(([, verb]) => verb));
    expect(verbs).toContain('rollout');
    // Other words after the name are what certmarshal does, not what somebody types, unless they are marked as such.
    const commands = texts
      .flatMap((line) => [...line.matchAll(/(`?)\bcertmarshal (([a-z]+)(?: [a-z]+)?)((?: --[a-z-]+)*)/g)])
      .filter(([, mark, , verb]) => verbs.has(verb) || mark === '`')
      .map(([whole, , words = '', , options = '']) => [whole, words, options] as const);
    expect(commands.length).toBeGreaterThan(8);
    const wrong = commands.flatMap(([whole, words, options]) => {
      const [first = '', second = ''] = words.split(' ');
      if (GROUPS.has(first) && second === '') return [whole];
      const known = optionsOf(GROUPS.has(first) ? `${first} ${second}` : first);
      return options.split(' ').some((option) => option !== '' && !known.has(option)) ? [whole] : [];
    });
    expect(wrong).toEqual([]);
  });

  it.each([...pages, LIST, ALARM_LIST])('%s points to pages that exist', (page) => {
    const targets = [...textOf(page).matchAll(/\]\((?!https?:)([^)#]+)/g)].map(([, target = '']) => target);
    const folder = dirname(`${ROOT}${FOLDER}/${page}`);
    expect(targets.filter((target) => !existsSync(`${folder}/${target}`))).toEqual([]);
  });

  it.each(pages)('%s takes nothing away that cannot be brought back', (page) => {
    const forbidden =
      // But a Machine of a group of workers: its MachineSet makes another one.
      /delete machine(?!s\.cluster\.x-k8s\.io -l "[^"]*,cluster\.x-k8s\.io\/deployment-name" )|delete secret|edit secret|certificate deny|certificate approve|--force|delete node /;
    expect(blocksIn(page).filter((block) => forbidden.test(block))).toEqual([]);
  });
});
