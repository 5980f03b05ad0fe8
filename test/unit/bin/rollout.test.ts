import { describe, expect, it } from 'vitest';
import { repeatableList } from '../../../bin/command.ts';
import { rolloutChangeCommand } from '../../../bin/commands/rollout/change.ts';
import { rolloutPlanCommand } from '../../../bin/commands/rollout/plan.ts';
import { rolloutStartCommand } from '../../../bin/commands/rollout/start.ts';
import { rolloutDriveCommand, rolloutStatusCommand } from '../../../bin/commands/rollout/status.ts';
import { pauseOf } from '../../../lambdas/rollout/etcd-order.ts';
import { observeRollout } from '../../../lambdas/rollout/observe.ts';
import { planRollout } from '../../../lambdas/rollout/plan.ts';
import type { RolloutCheck, RolloutStep } from '../../../lambdas/rollout/step.ts';
import { controlPlane, DAY, etcd, healthyRollout, machine, NOW } from '../rollout/fixtures.ts';
import { healthyWorld } from '../rollout/world.ts';
import { outcomeOf } from './io.ts';
import {
  CLOSED,
  held,
  MARK,
  NO_CAPACITY,
  OPTIONS,
  ready,
  refused,
  rolling,
  type Script,
  SUBJECT,
  scripted,
  UNHEALTHY,
} from './rollouts.ts';

const { signal } = new AbortController();
const UNREAD = {
  kind: 'forbidden',
  object: 'list machines on https://10.0.1.10:6443',
  message: 'answered 403',
  remedy: 'Grant it: certmarshal rbac --management --rollouts | kubectl apply -f -',
};

const SINGLE: RolloutCheck = { id: 'single-replica', passed: false, found: 'it has one machine' };

it('takes --accept as a list, and several times', () => {
  expect(repeatableList('a,b', undefined)).toBe('a,b');
  expect(repeatableList('c', 'a,b')).toBe('a,b,c');
});

describe('certmarshal rollout plan', () => {
  const plan = async (script: Script, options: { verbose?: boolean; output?: 'json' } = {}) => {
    const run = scripted(script);
    return {
      ...(await outcomeOf(run, rolloutPlanCommand(SUBJECT, { ...OPTIONS, ...options }, signal, run.ports))),
      run,
    };
  };

  it.each([
    ['only that there is one machine', [SINGLE], 'certmarshal runbook renew-in-place'],
    ['also what can be fixed', [SINGLE, UNHEALTHY], 'certmarshal rollout plan --kubeconfig berlin.yaml, after '],
  ])('leads to a renewal in place where this is in the way: %s', async (_, checks, next) => {
    const { stdout } = await plan({ schedule: [refused(...checks)], person: refused(...checks) });
    expect(/ {2}Next {2}(.*)\n$/.exec(stdout)?.[1]?.slice(0, next.length)).toBe(next);
  });

  it('has the command on one line on a narrow terminal, and what follows it below', async () => {
    const script = { schedule: [refused(SINGLE, UNHEALTHY)], person: refused(SINGLE, UNHEALTHY), columns: 60 };
    expect((await plan(script)).stdout).toMatch(
      / {2}Next {2}certmarshal rollout plan --kubeconfig berlin\.yaml\n {8}after you have fixed what is above; without a\n {8}rollout: certmarshal runbook renew-in-place\n$/,
    );
  });

  describe('where a connection tolerated an API server certificate that expired 400 days ago', () => {
    const lived = { notBefore: NOW - 765 * DAY, notAfter: NOW - 400 * DAY };
    const recovering = { ...lived, sha256: 'ab'.repeat(32), pin: 'fingerprint' } as const;
    const planOf = async (managesItself: boolean, mode = 'auto') => {
      const world = healthyWorld();
      const annotations = { 'certmarshal.dev/rollout-mode': mode };
      world.management.change(world.paths.eksAnywhere, { metadata: { annotations } });
      const management = { ...world.management.client, recovering };
      const target = { ...SUBJECT.target, ...world.target, management, managesItself, handshakes: undefined };
      const run = scripted();
      const ports = { ...run.ports, observe: observeRollout, plan: planRollout };
      const subject = { ...SUBJECT, target, everyMinutes: undefined };
      return (await outcomeOf(run, rolloutPlanCommand(subject, OPTIONS, signal, ports))).stdout;
    };

    it.each(['auto', 'assist'])('leads to the recovery without a route to the machines, in mode %s', async (mode) => {
      const stdout = await planOf(true, mode);
      expect(stdout).toContain('berlin-prod: certificates expired 400 days ago: nothing is rolled automatically');
      expect(stdout).toContain(
        '✖ API server https://management.test:6443: the API server shows one that expired 400 days ago',
      );
      expect(stdout).toContain('that of the API server is the only one seen');
      expect(stdout).not.toMatch(/no certificate was seen|It would write/);
      expect(stdout).toMatch(/ {2}Next {2}certmarshal runbook recovery\n$/);
    });

    it('knows nothing of another cluster that it manages', async () => {
      expect(await planOf(false)).toMatch(/^(?!.*expired).*no certificate was seen, so it is not known when it/s);
    });
  });

  it('tells the whole story, what is in the way, what it would write, when, and the next command', async () => {
    const { status, stdout, run } = await plan({
      schedule: [refused(UNHEALTHY, NO_CAPACITY, CLOSED)],
      person: refused(UNHEALTHY, { ...NO_CAPACITY, waived: true }),
    });
    expect(status).toBe(0);
    expect(run.done).toEqual({ steps: [], acts: [], slept: [] });
    expect(stdout).toBe(`✖ berlin-prod: a rollout of 3 control plane machines is refused: 3 of 6 checks fail.
  10.0.1.10:6443, context admin

  ✖ MachineHealthCheck eksa-system/berlin-prod-kcp-unhealthy: 2 of 3 machines healthy  (health-checks)
    → Run certmarshal audit, and see what is wrong with the machine
  ◌ maintenance-window: opens in 3 hours  (passes without you)
  ! spare-capacity: nobody vouches for it  (at rollout start you answer for it)
    → Add spare-capacity to accepted
  ✔ 3 more passed; --verbose lists them

  schedule  does nothing until a person has checked
  by hand   refused: health-checks

  It would write, in one patch of KubeadmControlPlane eksa-system/berlin-prod:
    spec.rollout.after = now
    annotation certmarshal.dev/rollout = its id, start and reason
  Workers are not rolled: kubelets renew their own certificates.

  2026-01-07 █████████████████████████████████████████████████████▒▒▒▒▒░░ 2027-01-07
  █ used  ░ left  ▒ time to start  · that of berlin-prod-1 expires first of 9 certificates seen

  First certificate expires 2027-01-07 (in 40 d); due since 2026-11-23 (5 d ago); latest safe start 2026-12-28 (in 30 d); next look within 15 min.
  Next  certmarshal rollout plan --kubeconfig berlin.yaml, after you have fixed what is above; without a rollout: certmarshal runbook renew-in-place
`);
  });

  it('names every check with --verbose, and who would answer for what', async () => {
    const { stdout } = await plan({ schedule: [refused(NO_CAPACITY)], person: ready(NO_CAPACITY) }, { verbose: true });
    expect(stdout).toContain('✔  etcd-healthy');
    expect(stdout).not.toContain('more passed');
    expect(stdout).toContain('by hand   rollout start --yes starts it now; you answer for: spare-capacity');
    expect(stdout).toContain(
      `It would write, in one patch of KubeadmControlPlane eksa-system/berlin-prod:\n    spec.rollout.after = ${MARK.start}\n    annotation certmarshal.dev/rollout = ${MARK.id}\n`,
    );
    expect(stdout).toContain('Next  certmarshal rollout start --yes --watch --kubeconfig berlin.yaml');
  });

  it('names the field as an older Cluster API has it', async () => {
    const { stdout } = await plan({
      observed: [healthyRollout({ controlPlane: controlPlane({ apiVersion: 'v1beta1' }) })],
    });
    expect(stdout).toContain('berlin-prod:\n    spec.rolloutAfter = now\n');
  });

  it('says that Cluster API rolls it too, and what passed with a warning', async () => {
    const { stdout } = await plan({
      observed: [healthyRollout({ controlPlane: controlPlane({ rolloutBeforeDays: 30 }) })],
      schedule: [
        ready({ id: 'handshakes', passed: true, warning: true, found: 'port 2380: it refuses', remedy: 'Start it' }),
      ],
    });
    expect(stdout).toContain('Cluster API rolls it too, 30 days before its API servers expire (rollout.before).');
    expect(stdout).toContain('  ! handshakes: port 2380: it refuses\n    → Start it\n');
  });

  it('promises no write to what etcd rolls', async () => {
    const { stdout } = await plan({ observed: [healthyRollout({ etcd: etcd() })] });
    expect(stdout).not.toContain('would write');
  });

  it('says what could not be read, and ends with status 1', async () => {
    const { status, stdout } = await plan({ observed: [healthyRollout({ unread: [UNREAD] })] });
    expect(status).toBe(1);
    expect(stdout).toContain(
      '✖ list machines on https://10.0.1.10:6443: answered 403\n    → Grant it: certmarshal rbac',
    );
  });

  it('says it once where that is why nothing is planned', async () => {
    const { object, message, remedy } = UNREAD;
    const unreadable = { ...refused(), reasons: [{ id: 'everything-read', object, message, remedy }] };
    const { stdout } = await plan({ observed: [healthyRollout({ unread: [UNREAD] })], schedule: [unreadable] });
    expect(stdout.match(/answered 403/g)).toHaveLength(1);
  });

  it('shows nothing of a life that nobody saw', async () => {
    const machines = [machine(1, { served: { kind: 'none' } })];
    const { stdout } = await plan({ observed: [healthyRollout({ machines })] });
    expect(stdout).not.toContain('█');
  });

  it('is one document of both plans as JSON', async () => {
    const { stdout } = await plan({ schedule: [refused(CLOSED)], person: ready(CLOSED) }, { output: 'json' });
    expect(JSON.parse(stdout)).toMatchObject({
      version: 1,
      kind: 'plan',
      at: new Date(NOW).toISOString(),
      cluster: { name: 'berlin-prod' },
      schedule: { kind: 'hold', state: 'refused' },
      person: { kind: 'act', write: { kind: 'roll-control-plane' } },
      unread: [],
    });
  });

  it('keeps what a cluster says from the terminal', async () => {
    const hostile = { ...UNHEALTHY, object: 'Machine \u001b[2Jx', found: 'a:\n* b\n\nc\u202e' };
    const { stdout } = await plan({ schedule: [refused(hostile)], person: refused(hostile) });
    expect(stdout).toContain(String.raw`Machine \u{1b}[2Jx`);
    expect(stdout).toContain(String.raw`a: b; c\u{202e}`);
  });

  it('fits 80 columns', async () => {
    const { stdout } = await plan({
      schedule: [refused(UNHEALTHY, NO_CAPACITY, CLOSED)],
      person: ready(NO_CAPACITY),
      columns: 80,
    });
    const wide = stdout.split('\n').filter((line) => Array.from(line).length > 80 && !line.includes('  Next  '));
    expect(wide).toEqual([]);
  });
});

describe('certmarshal rollout start', () => {
  const start = async (script: Script, options: { yes?: boolean; watch?: boolean; output?: 'json' } = {}) => {
    const run = scripted(script);
    return {
      ...(await outcomeOf(run, rolloutStartCommand(SUBJECT, { ...OPTIONS, ...options }, signal, run.ports))),
      run,
    };
  };

  it('answers for what the person named, and never lets the schedule do so', async () => {
    const run = scripted({ person: ready(), stepped: { written: { kind: 'written' } } });
    const named: unknown[] = [];
    const ports: typeof run.ports = {
      ...run.ports,
      plan: (observed, policy, history, now, trigger, waivers) => {
        named.push([trigger, waivers]);
        return run.ports.plan(observed, policy, history, now, trigger, waivers);
      },
      step: async (target, options) => {
        named.push(['written', options.waivers]);
        return run.ports.step(target, options);
      },
    };
    const subject = { ...SUBJECT, waivers: ['one-of-its-management-cluster'] as const };
    await rolloutStartCommand(subject, { ...OPTIONS, yes: true }, signal, ports);
    expect(named).toEqual([
      ['schedule', undefined],
      ['person', subject.waivers],
      ['written', subject.waivers],
    ]);
  });

  it('writes nothing without --yes', async () => {
    const { status, stderr, run } = await start({ schedule: [refused(CLOSED)], person: ready(CLOSED) });
    expect({ status, stderr, steps: run.done.steps }).toEqual({
      status: 1,
      stderr: 'Nothing was written: --yes starts it. certmarshal rollout start --yes --kubeconfig berlin.yaml\n',
      steps: [],
    });
  });

  it.each([
    ['a check fails that nobody can answer for', refused(UNHEALTHY)],
    ['a rollout is running', rolling(1)],
  ])('writes nothing when %s', async (_, person) => {
    const { status, run } = await start({ person }, { yes: true });
    expect({ status, steps: run.done.steps }).toEqual({ status: 1, steps: [] });
  });

  it('writes once, and says what was answered for and how to watch', async () => {
    const { status, stdout, run } = await start(
      { schedule: [refused(NO_CAPACITY)], person: ready(NO_CAPACITY), stepped: { written: { kind: 'written' } } },
      { yes: true },
    );
    expect({ status, steps: run.done.steps }).toEqual({ status: 0, steps: ['person'] });
    expect(stdout).toContain(
      `✔ berlin-prod: rollout ${MARK.id} started.\n  Written, in one patch of KubeadmControlPlane eksa-system/berlin-prod:\n    spec.rollout.after = ${MARK.start}\n`,
    );
    expect(stdout.match(/ Next /g)).toHaveLength(1);
    expect(stdout).toContain('You answer for: spare-capacity (nobody vouches for it).');
    expect(stdout).toContain('Next  certmarshal rollout status --watch --kubeconfig berlin.yaml');
  });

  it.each(['overtaken', 'refused', 'locked', 'failed', 'unknown'] as const)(
    'ends with status 1 when it is %s',
    async (kind) => {
      const problem = { kind: 'x', object: 'patch y', message: 'said no', remedy: 'Run certmarshal audit' };
      const { status, stdout } = await start(
        { person: ready(), stepped: { written: { kind, problem }, problems: [problem] } },
        { yes: true, watch: true },
      );
      expect(status).toBe(1);
      expect(stdout.match(/patch y: said no/g)).toHaveLength(1);
    },
  );

  it('says that what it looked at again is not as it was', async () => {
    const { status, stdout } = await start({ person: ready(), stepped: { step: refused(UNHEALTHY) } }, { yes: true });
    expect(status).toBe(1);
    expect(stdout).toContain('✖ berlin-prod: nothing was written: the state has just changed: a rollout of 3');
  });

  it('carries it on until it is done with --watch', async () => {
    const { status, run } = await start(
      {
        schedule: [refused(CLOSED), rolling(1), rolling(3, 'done')],
        person: ready(CLOSED),
        stepped: { written: { kind: 'written' }, problems: [] },
      },
      { yes: true, watch: true },
    );
    expect(run.done.steps[0]).toBe('person');
    expect(run.done.steps.slice(1).every((trigger) => trigger === 'schedule')).toBe(true);
    expect(status).toBe(0);
  });

  it('is two kinds of documents as JSON, never both for one run', async () => {
    const asked = await start({ person: ready() }, { output: 'json' });
    expect(JSON.parse(asked.stdout)).toMatchObject({ kind: 'plan' });
    const begun = await start(
      { person: ready(), stepped: { written: { kind: 'written' } } },
      { output: 'json', yes: true },
    );
    expect(JSON.parse(begun.stdout)).toMatchObject({ kind: 'start', written: { kind: 'written' } });
  });
});

describe('certmarshal rollout status', () => {
  const statusOf = async (script: Script, options: { watch?: boolean; output?: 'json' } = {}) => {
    const run = scripted(script);
    return {
      ...(await outcomeOf(run, rolloutStatusCommand(SUBJECT, { ...OPTIONS, ...options }, signal, run.ports))),
      run,
    };
  };

  it('shows how far each machine is, the oldest first', async () => {
    const { status, stdout, run } = await statusOf({ schedule: [rolling(1)] });
    expect(status).toBe(0);
    expect(run.done).toEqual({ steps: [], acts: [], slept: [] });
    expect(stdout).toBe(`↻ berlin-prod: rolling: 1 of 3 control plane machines replaced.
  10.0.1.10:6443, context admin
  r-berlin-prod-1, started 2026-11-28T02:29:55Z by a person; last change 3 min ago

  ███████████░░░░░░░░░░░░░░░░░░░░░  control plane: 1 of 3 verified, 1 replaced
     MACHINE        NODE    STATE     AGE   CERTIFICATE
  ○  berlin-prod-2  node-2  old       325d  2024-09-19 → 2027-01-07
  ○  berlin-prod-3  node-3  old       325d  2024-09-19 → 2027-01-07
  ✔  berlin-prod-4  node-4  verified  1m    2026-11-28 → 2027-11-28

  Next  certmarshal rollout status --watch --kubeconfig berlin.yaml
`);
  });

  it('says why it is held, with the runbook, and ends with status 1', async () => {
    const { status, stdout } = await statusOf({ schedule: [held()] }, { watch: true });
    expect(status).toBe(1);
    expect(stdout).toContain(
      '✖ Machine eksa-system/berlin-prod-4: in Provisioning\n    → Look at it\n    certmarshal runbook stuck\n',
    );
    expect(stdout).toContain('rollout resume');
  });

  it('looks every 5 s until it is done, and tells each change once', async () => {
    const { status, stdout, run } = await statusOf(
      { schedule: [rolling(0), rolling(0), rolling(1), rolling(3, 'verifying'), rolling(3, 'done')] },
      { watch: true },
    );
    expect({ status, ...run.done }).toEqual({ status: 0, steps: [], acts: [], slept: [5000, 5000, 5000, 5000] });
    expect(stdout.match(/berlin-prod-4 on node-4 verified/g)).toHaveLength(1);
    expect(stdout.match(/berlin-prod-1 gone/g)).toHaveLength(1);
    expect(stdout).toContain('02:30:00  rolling → verifying');
    expect(stdout).toContain('✔ berlin-prod: done');
  });

  it('tells that a machine is not well, and is again, once; not while it is made or goes', async () => {
    const first = rolling(0);
    const progress = first.progress;
    if (progress === undefined) throw new Error('a rollout that goes on has a progress');
    const unwell = (unhealthy: readonly string[], state?: 'new' | 'leaving'): RolloutStep => ({
      ...first,
      progress: {
        ...progress,
        machines: progress.machines.map((one, index) =>
          index === 0 ? { ...one, unhealthy, ...(state === undefined ? {} : { state }) } : one,
        ),
      },
    });
    const away = ['NodeHealthy is False, NodeGone: away', 'EtcdPodHealthy is Missing'];
    const { stdout } = await statusOf(
      { schedule: [first, unwell(away), unwell(away), unwell([]), unwell(away, 'leaving'), rolling(3, 'done')] },
      { watch: true },
    );
    const lines = stdout.split('\n').filter((line) => line.startsWith('02:30:00  ') && line.includes('berlin-prod-1'));
    expect(lines.map((line) => line.slice(10))).toEqual([
      '○ berlin-prod-1 on node-1 not healthy: NodeHealthy is False, NodeGone, and 1 more',
      '○ berlin-prod-1 on node-1 healthy again',
      '↓ berlin-prod-1 on node-1 old → leaving',
    ]);
  });

  it('counts what is verified, and says how to stop', async () => {
    const { stdout } = await statusOf(
      { schedule: [rolling(0), rolling(1), rolling(3), rolling(3, 'done')] },
      { watch: true },
    );
    expect(stdout.match(/verified, \d of \d/g)).toEqual(['verified, 1 of 3', 'verified, 2 of 3', 'verified, 3 of 3']);
    expect(stdout).toContain('Reading again every 5 s; times in UTC. Ctrl-C stops this view, never the rollout.');
    expect(stdout.match(/ Next /g)).toHaveLength(1);
  });

  it('does not take a cluster that does not answer for one that is over', async () => {
    const lost = healthyRollout({ unread: [UNREAD] });
    const { status, stdout, run } = await statusOf(
      {
        observed: [healthyRollout(), lost, lost, healthyRollout()],
        schedule: [rolling(1), refused(), refused(), rolling(3, 'done')],
      },
      { watch: true },
    );
    expect({ status, slept: run.done.slept.length }).toEqual({ status: 0, slept: 3 });
    expect(stdout).toContain('answered 403');
  });

  it('gives up on one that does not answer for ten minutes', async () => {
    const lost = healthyRollout({ unread: [UNREAD] });
    const run = scripted({ observed: [healthyRollout(), lost], schedule: [rolling(1), refused()] });
    let now = NOW;
    const ports = {
      ...run.ports,
      clock: () => now,
      sleep: async (ms: number) => {
        now += ms;
      },
    };
    const { status } = await outcomeOf(run, rolloutStatusCommand(SUBJECT, { ...OPTIONS, watch: true }, signal, ports));
    expect({ status, minutes: (now - NOW) / 60_000 }).toEqual({ status: 1, minutes: expect.closeTo(10, 0) });
  });

  it('says at Ctrl-C that the rollout goes on', async () => {
    const controller = new AbortController();
    const run = scripted({ schedule: [rolling(1)] });
    const ports = {
      ...run.ports,
      sleep: async () => {
        controller.abort();
        throw new Error('aborted');
      },
    };
    const outcome = await outcomeOf(
      run,
      rolloutStatusCommand(SUBJECT, { ...OPTIONS, watch: true }, controller.signal, ports),
    );
    expect(outcome.status).toBe(1);
    expect(outcome.stderr).toContain('its rollout continues, nothing was undone');
  });

  it('is one document a look as JSON', async () => {
    const { stdout } = await statusOf({ schedule: [rolling(1), rolling(3, 'done')] }, { watch: true, output: 'json' });
    const documents = stdout
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line));
    expect(documents.map(({ kind, step }) => [kind, step.state])).toEqual([
      ['status', 'rolling'],
      ['status', 'done'],
    ]);
  });
});

describe('certmarshal rollout drive', () => {
  const drive = async (script: Script, yes = true) => {
    const run = scripted(script);
    return { ...(await outcomeOf(run, rolloutDriveCommand(SUBJECT, { ...OPTIONS, yes }, signal, run.ports))), run };
  };

  it('without --yes shows one look, and writes nothing', async () => {
    const { status, stdout, stderr, run } = await drive({ schedule: [rolling(1)] }, false);
    expect({ status, steps: run.done.steps, slept: run.done.slept }).toEqual({ status: 1, steps: [], slept: [] });
    expect(stdout).toContain('rolling');
    expect(stderr).toBe('Nothing was written: --yes continues it.\n');
    expect((await drive({ schedule: [ready()] }, false)).stderr).toBe('');
  });

  it.each([
    ['nothing is due', refused(CLOSED)],
    ['the schedule could begin one', ready()],
    ['it is held', held()],
  ])('writes nothing where no rollout goes on: %s', async (_, step) => {
    const { run } = await drive({ schedule: [step] });
    expect(run.done.steps).toEqual([]);
  });

  it.each([
    ['person', pauseOf(MARK), 'person'],
    ['person', 'somebody', 'schedule'],
    ['person', undefined, 'schedule'],
    ['schedule', pauseOf(MARK), 'schedule'],
  ] as const)('answers for what a person began, while it is paused for etcd: %s, %s', async (who, paused, trigger) => {
    const mark = { ...MARK, trigger: who };
    const plane = controlPlane({ mark, paused });
    const { run } = await drive({
      observed: [healthyRollout({ controlPlane: plane })],
      schedule: [
        { ...rolling(1), mark },
        { ...rolling(3, 'done'), mark },
      ],
    });
    expect(run.done.steps[0]).toBe(trigger);
  });

  it('steps as the schedule does, and once more when it is done, for the Lease', async () => {
    const { status, stdout, run } = await drive({
      schedule: [rolling(1), rolling(3, 'done')],
      stepped: { written: { kind: 'written' } },
    });
    expect(run.done.steps.slice(0, 2)).toEqual(['schedule', 'schedule']);
    expect(run.done.slept[0]).toBe(15_000);
    expect(status).toBe(0);
    expect(stdout).toContain('written');
  });
});

describe('a cluster that is not there', () => {
  const { capiCluster: _, controlPlane: __, ...observed } = healthyRollout({ machines: [] });
  const off: RolloutStep = { kind: 'nothing', state: 'off', message: 'there is nothing to roll', checks: [] };
  const commands = {
    plan: rolloutPlanCommand,
    start: rolloutStartCommand,
    status: rolloutStatusCommand,
    abort: rolloutChangeCommand('abort'),
  };

  it.each(Object.entries(commands))('%s says so, and ends with status 1', async (_name, command) => {
    const run = scripted({ observed: [observed], schedule: [off], person: off });
    const { status, stdout } = await outcomeOf(run, command(SUBJECT, { ...OPTIONS }, signal, run.ports));
    expect(status).toBe(1);
    expect(stdout).toMatch(/^✖ berlin-prod: there is no Cluster berlin-prod of Cluster API there; kubectl get/);
  });
});

describe('without a fleet.yaml', () => {
  const { everyMinutes: _, ...alone } = SUBJECT;
  const notAgreed: RolloutCheck = { id: 'opted-in-by-owner', passed: false, found: 'no annotation' };
  const late: RolloutCheck = {
    id: 'due',
    passed: false,
    passing: true,
    found: 'it is due in 300 days',
    remedy: 'Wait',
  };
  const off = (...checks: readonly RolloutCheck[]): RolloutStep => ({
    ...refused(...checks),
    kind: 'nothing',
    state: 'off',
    message: 'would not roll, not opted in',
    checks: [{ id: 'fleet-budget', passed: true, found: '0 of 1 at once' }, ...checks],
  });
  const plan = async (checks: readonly RolloutCheck[], verbose = false) => {
    const run = scripted({ schedule: [off(...checks)], person: ready(...checks) });
    return outcomeOf(run, rolloutPlanCommand(alone, { ...OPTIONS, verbose }, signal, run.ports));
  };

  it('the story is that of the person, who need not be opted in', async () => {
    const due: RolloutCheck = { id: 'due', passed: true, found: 'in 20 days' };
    const { stdout } = await plan([due, notAgreed]);
    expect(stdout).toMatch(/^◇ berlin-prod: would roll 3 control plane machines/);
    expect(stdout).toContain('schedule  leaves it alone: not opted in (no --fleet is given: the built-in times)');
    expect(stdout).toContain('Next  certmarshal rollout start --yes --watch');
  });

  it('nothing is due is the whole story, and nobody is asked for anything', async () => {
    const { stdout } = await plan([late, notAgreed, NO_CAPACITY]);
    expect(stdout).toMatch(/^✔ berlin-prod: nothing is due: it is due in 300 days\.\n/);
    expect(stdout).toContain('· for you to answer when it is due: opted-in-by-owner, spare-capacity\n');
    expect(stdout).not.toContain('start --yes --watch');
  });

  it('is not told that nothing is due where nobody could see it', async () => {
    const unseen: RolloutCheck = { id: 'due', passed: false, found: 'no certificate was seen', remedy: 'Let them' };
    const { stdout } = await plan([unseen, notAgreed]);
    expect(stdout).toMatch(/^◇ berlin-prod: would roll/);
    expect(stdout).not.toContain('nothing is due');
  });

  it('what only a deployed certmarshal knows is not said to have passed', async () => {
    const { stdout } = await plan([notAgreed], true);
    expect(stdout).toContain('·  fleet-budget  not read');
    expect(stdout).not.toContain('0 of 1 at once');
  });
});

describe('certmarshal rollout abort and resume', () => {
  const going = controlPlane({ mark: MARK, rolloutAfter: Date.parse(MARK.start) });
  const stopped = controlPlane({
    mark: MARK,
    hold: { id: MARK.id, at: MARK.start, reason: 'stuck', message: 'no machine was made' },
  });
  const change = async (
    verb: 'abort' | 'resume',
    controlled: typeof going,
    yes: boolean,
    output: 'table' | 'json' = 'table',
  ) => {
    const run = scripted({ observed: [healthyRollout({ controlPlane: controlled })] });
    const command = rolloutChangeCommand(verb)(SUBJECT, { ...OPTIONS, output, yes }, signal, run.ports);
    return { ...(await outcomeOf(run, command)), acts: run.done.acts };
  };

  it.each([
    ['abort', going, 'spec.rollout.after removed'],
    ['abort', stopped, 'annotation certmarshal.dev/rollout-hold removed'],
    ['resume', stopped, 'annotation certmarshal.dev/rollout-hold removed'],
  ] as const)('%s shows what it would write, and writes it with --yes', async (verb, controlled, field) => {
    const asked = await change(verb, controlled, false);
    expect({ status: asked.status, acts: asked.acts }).toEqual({ status: 1, acts: [] });
    expect(asked.stdout).toContain(
      `It would write, in one patch of KubeadmControlPlane eksa-system/berlin-prod:\n    ${field}\n`,
    );
    expect(asked.stdout).toContain(`Next  certmarshal rollout ${verb} --yes --kubeconfig berlin.yaml`);
    const done = await change(verb, controlled, true);
    expect({ status: done.status, acts: done.acts }).toEqual({ status: 0, acts: [`${verb} eksa-system/berlin-prod`] });
    expect(done.stdout).toMatch(/^✔ berlin-prod: (?:aborts the rollout|removes the hold)/);
    expect(done.stdout).toContain('Written, in one patch of KubeadmControlPlane eksa-system/berlin-prod:');
    expect(done.stdout).not.toMatch(/would|remove the hold/);
  });

  it.each(['abort', 'resume'] as const)('%s does not take what cannot be read for nothing', async (verb) => {
    const { controlPlane: _, ...observed } = healthyRollout({ unread: [UNREAD] });
    const run = scripted({ observed: [observed] });
    const command = rolloutChangeCommand(verb)(SUBJECT, { ...OPTIONS, yes: true }, signal, run.ports);
    const { status, stdout } = await outcomeOf(run, command);
    expect({ status, acts: run.done.acts }).toEqual({ status: 1, acts: [] });
    expect(stdout).toMatch(/^✖ berlin-prod: its control plane could not be read: nothing was written\.\n/);
    expect(stdout).not.toContain('There is no');
    const json = scripted({ observed: [observed] });
    const document = rolloutChangeCommand(verb)(SUBJECT, { ...OPTIONS, output: 'json' }, signal, json.ports);
    expect(JSON.parse((await outcomeOf(json, document)).stdout)).toMatchObject({
      step: { kind: 'hold', state: 'refused', reasons: [{ id: 'everything-read', object: UNREAD.object }] },
    });
  });

  it('is tried again when a controller was faster, and not for ever', async () => {
    const run = scripted({ observed: [healthyRollout({ controlPlane: going })] });
    const acts: string[] = [];
    const ports = {
      ...run.ports,
      act: async () => ({ kind: acts.push('act') < 3 ? ('overtaken' as const) : ('written' as const) }),
    };
    const command = rolloutChangeCommand('abort')(SUBJECT, { ...OPTIONS, yes: true }, signal, ports);
    expect((await outcomeOf(run, command)).status).toBe(0);
    expect(acts).toHaveLength(3);

    const busy = scripted({ observed: [healthyRollout({ controlPlane: going })] });
    const never = { ...busy.ports, act: async () => ({ kind: 'overtaken' as const }) };
    const given = rolloutChangeCommand('abort')(SUBJECT, { ...OPTIONS, yes: true }, signal, never);
    const { status, stdout } = await outcomeOf(busy, given);
    expect(status).toBe(1);
    expect(stdout).toMatch(/^✖ berlin-prod: not written: another client changed the object meanwhile\.\n/);
  });

  it.each(['abort', 'resume'] as const)('%s says that there is nothing to do it to', async (verb) => {
    const { status, acts, stdout } = await change(verb, controlPlane(), true);
    expect({ status, acts }).toEqual({ status: 1, acts: [] });
    expect(stdout).toMatch(/^✖ berlin-prod: There is no (?:rollout|hold) .*; nothing was written\.$/m);
    expect(stdout).toContain(`certmarshal runbook nothing-to-${verb}`);
  });

  it('is one document as JSON', async () => {
    const { stdout } = await change('abort', going, true, 'json');
    expect(JSON.parse(stdout)).toMatchObject({
      kind: 'abort',
      step: { write: { kind: 'abort' } },
      written: { kind: 'written' },
    });
  });
});
