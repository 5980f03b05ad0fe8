import { describe, expect, it } from 'vitest';
import {
  type RolloutCommand,
  rolloutAbortCommand,
  rolloutPlanCommand,
  rolloutStartCommand,
  rolloutStatusCommand,
} from '../../../bin/commands/rollout/commands.ts';
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
const MARKED = `annotation certmarshal.dev/rollout = ${JSON.stringify(MARK)}`;
const SINGLE: RolloutCheck = { id: 'single-replica', passed: false, found: 'it has one machine' };
const { controlPlane: _unread, ...UNREADABLE } = healthyRollout({ unread: [UNREAD] });

/** What a command printed and wrote. */
async function ran(
  command: RolloutCommand,
  script: Script,
  options: { readonly verbose?: boolean; readonly yes?: boolean; readonly output?: 'json' } = {},
  subject = SUBJECT,
) {
  const run = scripted(script);
  return { ...(await outcomeOf(run, command(subject, { ...OPTIONS, ...options }, signal, run.ports))), ...run.done };
}

describe('certmarshal rollout plan', () => {
  it('is a verdict, the checks that fail with their objects, when, and the machines', async () => {
    const { status, stdout, ...others } = await ran(rolloutPlanCommand, {
      schedule: refused(NO_CAPACITY, CLOSED, UNHEALTHY),
      person: refused(UNHEALTHY, { ...NO_CAPACITY, waived: true }),
    });
    expect({ status, ...others }).toEqual({ status: 0, stderr: '', steps: [], acts: [] });
    expect(stdout).toBe(`✖ berlin-prod: a rollout of 3 control plane machines is refused: 3 of 6 checks fail
  10.0.1.10:6443, context admin

  ✖ fails   health-checks       MachineHealthCheck eksa-system/berlin-prod-kcp-unhealthy: 2 of 3 machines healthy
  ◌ waits   maintenance-window  opens in 3 hours
  ! accept  spare-capacity      nobody vouches for it
  3 checks passed; --verbose lists them, and what to do

  First certificate expires 2027-01-07 (in 40 d); due since 2026-11-23 (5 d ago); latest safe start 2026-12-28 (in 30 d)

  MACHINE        NODE           EXPIRES     LEFT  CONDITION
  berlin-prod-1  berlin-prod-1  2027-01-07  40 d
  berlin-prod-2  berlin-prod-2  2027-01-07  40 d
  berlin-prod-3  berlin-prod-3  2027-01-07  40 d
`);
  });

  it('names every check with --verbose, what to do, and what would be written', async () => {
    const script = { schedule: refused(NO_CAPACITY), person: ready(NO_CAPACITY) };
    const { stdout } = await ran(rolloutPlanCommand, script, { verbose: true });
    expect(stdout).toContain(`  ! accept  spare-capacity   nobody vouches for it
                             → Add spare-capacity to accepted
  ✔         everything-read  all of it
`);
    expect(stdout).toContain(
      `  rollout start --yes would write KubeadmControlPlane eksa-system/berlin-prod: ${MARKED}, spec.rollout.after = ${MARK.start}\n`,
    );
  });

  it('names the field as an older Cluster API has it', async () => {
    const object = controlPlane({ apiVersion: 'v1beta1' });
    const person: RolloutStep = { ...ready(), kind: 'act', write: { kind: 'roll-control-plane', object, mark: MARK } };
    expect((await ran(rolloutPlanCommand, { person })).stdout).toContain(', spec.rolloutAfter = ');
  });

  it('shows the earliest end of each machine, what of it was not seen, and why it is unhealthy', async () => {
    const failed = { kind: 'failed', problem: 'refused', remedy: 'Start it' } as const;
    const soon = { ...machine(1).served, notAfter: NOW + 9 * DAY };
    const machines = [
      machine(1, { etcdPorts: [{ port: 2379, served: soon }] }),
      machine(2, { etcdPorts: [{ port: 2380, served: failed }], unhealthy: ['EtcdMemberHealthy is False: no leader'] }),
      machine(3, { served: failed, etcdPorts: [], deleting: true }),
    ];
    const { stdout } = await ran(rolloutPlanCommand, { observed: healthyRollout({ machines }) });
    expect(stdout).toContain(`
  berlin-prod-1  berlin-prod-1  2026-12-07                         9 d
  berlin-prod-2  berlin-prod-2  2027-01-07, not seen on port 2380  40 d  EtcdMemberHealthy is False
  berlin-prod-3  berlin-prod-3  not seen                                 leaving
`);
  });

  it('says that Cluster API rolls it too, and what passed with a warning', async () => {
    const warning = { id: 'handshakes', passed: true, warning: true, found: 'port 2380: it refuses' } as const;
    const { stdout } = await ran(rolloutPlanCommand, {
      observed: healthyRollout({ controlPlane: controlPlane({ rolloutBeforeDays: 30 }) }),
      schedule: ready(warning),
    });
    expect(stdout).toContain('; Cluster API rolls it 30 days before its API servers expire (rollout.before)\n');
    expect(stdout).toContain('  ! look  handshakes  port 2380: it refuses\n');
  });

  it.each([
    ['only that there is one machine', [SINGLE], true],
    ['also what can be fixed', [SINGLE, UNHEALTHY], false],
  ])('leads to a renewal in place where this is in the way: %s', async (_, checks, isWayOut) => {
    const { stdout } = await ran(rolloutPlanCommand, { schedule: refused(...checks), person: refused(...checks) });
    expect(stdout.split('\n')[0]?.endsWith('. Way out: certmarshal runbook renew-in-place')).toBe(isWayOut);
  });

  it.each(['auto', 'assist'])('leads to the recovery when the API server has expired, in mode %s', async (mode) => {
    const world = healthyWorld();
    const annotations = { 'certmarshal.dev/rollout-mode': mode };
    world.management.change(world.paths.eksAnywhere, { metadata: { annotations } });
    const recovering = {
      notBefore: NOW - 765 * DAY,
      notAfter: NOW - 400 * DAY,
      sha256: 'ab'.repeat(32),
      pin: 'fingerprint',
    } as const;
    const planOf = async (managesItself: boolean) => {
      const management = { ...world.management.client, recovering };
      const target = { ...SUBJECT.target, ...world.target, management, managesItself, handshakes: undefined };
      const run = scripted();
      const ports = { ...run.ports, observe: observeRollout, plan: planRollout };
      const plan = rolloutPlanCommand({ ...SUBJECT, target, ofFleet: false }, OPTIONS, signal, ports);
      return (await outcomeOf(run, plan)).stdout;
    };
    const stdout = await planOf(true);
    expect(stdout).toMatch(
      /^✖ berlin-prod: certificates expired 400 days ago: .*\. Way out: certmarshal runbook recovery\n/,
    );
    expect(stdout).toContain(
      'not-expired         API server https://management.test:6443: the API server shows one that',
    );
    expect(stdout).not.toContain('would write');
    // A management cluster says nothing about the cluster that it manages.
    expect(await planOf(false)).toMatch(/^(?!.*expired).*no certificate was seen, so it is not known when it/s);
  });

  it('says once what could not be read, and ends with status 1', async () => {
    const observed = healthyRollout({ unread: [UNREAD] });
    const { object, message, remedy } = UNREAD;
    const unreadable = { ...refused(), reasons: [{ id: 'everything-read', object, message, remedy }] };
    const { status, stdout } = await ran(rolloutPlanCommand, { observed, schedule: unreadable });
    expect(status).toBe(1);
    expect(stdout.match(/answered 403/g)).toHaveLength(1);
    expect(stdout).toContain(
      '✖ list machines on https://10.0.1.10:6443: answered 403\n    → Grant it: certmarshal rbac',
    );
  });

  it('says that there is no such cluster, and nothing else', async () => {
    const { capiCluster: _, ...observed } = healthyRollout();
    const { status, stdout } = await ran(rolloutPlanCommand, { observed });
    expect(status).toBe(1);
    expect(stdout).toMatch(
      /^✖ berlin-prod: there is no Cluster berlin-prod of Cluster API there; kubectl get .*\n.*\n$/,
    );
  });

  it('is one document of both plans as JSON', async () => {
    const script = { schedule: refused(CLOSED), person: ready(CLOSED) };
    const { stdout } = await ran(rolloutPlanCommand, script, { output: 'json' });
    const document = JSON.parse(stdout);
    expect(Object.keys(document)).toEqual(['version', 'kind', 'at', 'cluster', 'schedule', 'person', 'unread']);
    expect(document).toMatchObject({
      version: 1,
      kind: 'plan',
      at: new Date(NOW).toISOString(),
      schedule: { kind: 'hold', state: 'refused' },
      person: { kind: 'act', write: { kind: 'roll-control-plane' } },
    });
  });

  it('keeps what a cluster says from the terminal', async () => {
    const hostile = { ...UNHEALTHY, object: 'Machine \u001b[2Jx', found: 'a:\n* b\n\nc\u202e' };
    const { stdout } = await ran(rolloutPlanCommand, { schedule: refused(hostile), person: refused(hostile) });
    expect(stdout).toContain(String.raw`Machine \u{1b}[2Jx: a: b; c\u{202e}`);
  });

  describe('without a fleet.yaml', () => {
    const notAgreed: RolloutCheck = {
      id: 'opted-in-by-owner',
      passed: false,
      waived: true,
      found: 'no annotation certmarshal.dev/rollout-mode',
    };
    const budget: RolloutCheck = { id: 'fleet-budget', passed: true, found: '0 of 1 at once' };
    const plan = async (checks: readonly RolloutCheck[], verbose = false) => {
      const off: RolloutStep = { kind: 'nothing', state: 'off', message: 'not opted in', checks: [budget, ...checks] };
      const script = { schedule: off, person: ready(...checks) };
      return (await ran(rolloutPlanCommand, script, { verbose }, { ...SUBJECT, ofFleet: false })).stdout;
    };
    const due: RolloutCheck = { id: 'due', passed: true, found: 'in 20 days' };
    const late: RolloutCheck = { id: 'due', passed: false, passing: true, found: 'it is due in 300 days' };

    it('the verdict is that of the person, who need not be opted in', async () => {
      expect(await plan([due, notAgreed])).toMatch(/^! berlin-prod: would roll 3 control plane machines/);
    });

    it('nothing is due is the verdict, and nobody is asked for anything', async () => {
      const stdout = await plan([late, notAgreed, NO_CAPACITY]);
      expect(stdout).toMatch(/^✔ berlin-prod: nothing is due: it is due in 300 days\n/);
      expect(stdout).toContain('  0 checks passed, 1 not read here, 2 for you to accept when it is due; ');
      expect(stdout).not.toContain('accept  ');
    });

    it('never says that nothing is due where no certificate was seen', async () => {
      const unseen: RolloutCheck = { id: 'due', passed: false, found: 'no certificate was seen', remedy: 'Let them' };
      expect(await plan([unseen, notAgreed])).toMatch(/^! berlin-prod: would roll/);
    });

    it('what only a hub knows is not said to have passed', async () => {
      const stdout = await plan([notAgreed], true);
      expect(stdout).toMatch(/· +fleet-budget +not read here\n/);
      expect(stdout).not.toContain('0 of 1 at once');
    });
  });
});

describe('certmarshal rollout start', () => {
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
    const { stdout, ...others } = await ran(rolloutStartCommand, { person: ready(CLOSED) });
    expect(others).toEqual({
      status: 1,
      stderr: 'Nothing was written: --yes does it. certmarshal rollout start --yes --kubeconfig berlin.yaml\n',
      steps: [],
      acts: [],
    });
    expect(stdout).toContain('  rollout start --yes would write KubeadmControlPlane eksa-system/berlin-prod: ');
  });

  const object = controlPlane();
  const unpause = (trigger: 'person' | 'schedule'): RolloutStep => {
    const mark = { ...MARK, trigger };
    return { ...ready(), kind: 'act', state: 'rolling', mark, write: { kind: 'unpause-control-plane', object, mark } };
  };

  it.each([
    ['a check fails that nobody can answer for', refused(UNHEALTHY)],
    ['a rollout is running', rolling(1)],
    ['the next write is that of the schedule, which takes no answers of a person', unpause('schedule')],
  ])('writes nothing when %s', async (_, person) => {
    const { status, steps } = await ran(rolloutStartCommand, { person }, { yes: true });
    expect({ status, steps }).toEqual({ status: 1, steps: [] });
  });

  it('writes once, and says what was accepted and what happens next', async () => {
    const script = { person: ready(NO_CAPACITY), stepped: { written: { kind: 'written' } } } as const;
    const { status, stdout, steps } = await ran(rolloutStartCommand, script, { yes: true });
    expect({ status, steps }).toEqual({ status: 0, steps: ['person'] });
    expect(stdout.slice(stdout.indexOf('\n✔'))).toBe(`
✔ berlin-prod: rollout ${MARK.id} started
  10.0.1.10:6443, context admin
  Wrote KubeadmControlPlane eksa-system/berlin-prod: ${MARKED}, spec.rollout.after = ${MARK.start}
  You accepted spare-capacity (nobody vouches for it)
  Cluster API now replaces one machine after the other.
  A hub, or certmarshal run --every 1m --yes, holds it when something is wrong, and returns its Lease at the end.
  Progress: certmarshal rollout status --kubeconfig berlin.yaml
`);
  });

  it('makes each further write of a rollout with external etcd that a person started', async () => {
    const pause = { ...ready(), kind: 'act', write: { kind: 'pause-control-plane', object, mark: MARK } } as const;
    const stepped = { written: { kind: 'written' } } as const;
    const first = await ran(rolloutStartCommand, { person: pause, stepped }, { yes: true });
    expect(first.stdout).toContain(
      '  Etcd comes first: certmarshal rollout start --yes --kubeconfig berlin.yaml makes each further write, when the one before is done.\n',
    );
    const next = await ran(rolloutStartCommand, { person: unpause('person'), stepped }, { yes: true });
    expect(next).toMatchObject({ status: 0, steps: ['person'] });
    expect(next.stdout).toContain(`✔ berlin-prod: rollout ${MARK.id} continues\n`);
  });

  it.each(['overtaken', 'refused', 'locked', 'failed', 'unknown'] as const)(
    'ends with status 1 when it is %s',
    async (kind) => {
      const problem = { kind: 'x', object: 'patch y', message: 'said no', remedy: 'Run certmarshal audit' };
      const stepped = { written: { kind, problem }, problems: [problem] };
      const { status, stdout, steps } = await ran(rolloutStartCommand, { person: ready(), stepped }, { yes: true });
      expect({ status, tries: steps.length }).toEqual({ status: 1, tries: kind === 'overtaken' ? 5 : 1 });
      expect(stdout.match(/patch y: said no/g)).toHaveLength(1);
    },
  );

  it.each([
    [undefined, 'nothing was written, it has changed: held: no machine'],
    [{ kind: 'written' } as const, 'held: no machine'],
  ])('says what it did instead where the second reading is another: %j', async (written, message) => {
    const script = { person: ready(), stepped: { step: held(), written } };
    const { status, stdout } = await ran(rolloutStartCommand, script, { yes: true });
    expect(status).toBe(1);
    expect(stdout).toContain(`✖ berlin-prod: ${message}`);
    expect(stdout).toContain('    → Look at it · certmarshal runbook stuck\n');
  });

  it('is two kinds of documents as JSON, never both for one run', async () => {
    const script = { person: ready(), stepped: { written: { kind: 'written' } } } as const;
    const asked = await ran(rolloutStartCommand, script, { output: 'json' });
    expect(JSON.parse(asked.stdout)).toMatchObject({ kind: 'plan' });
    const begun = await ran(rolloutStartCommand, script, { output: 'json', yes: true });
    expect(JSON.parse(begun.stdout)).toMatchObject({ version: 1, kind: 'start', written: { kind: 'written' } });
  });
});

describe('certmarshal rollout status', () => {
  it('shows since when, and how far each machine is, the oldest first', async () => {
    const { stdout, ...others } = await ran(rolloutStatusCommand, { schedule: rolling(1) });
    expect(others).toEqual({ status: 0, stderr: '', steps: [], acts: [] });
    expect(stdout).toBe(`· berlin-prod: rolling: 1 of 3 control plane machines replaced
  10.0.1.10:6443, context admin
  r-berlin-prod-1, started 2026-11-28T02:29:55Z by a person; last change 3 min ago

  control plane: 1 of 3 replaced, 1 verified
  MACHINE        NODE    STATE     AGE    CERTIFICATE              CONDITION
  berlin-prod-2  node-2  old       325 d  2024-09-19 → 2027-01-07
  berlin-prod-3  node-3  old       325 d  2024-09-19 → 2027-01-07
  berlin-prod-4  node-4  verified  1 min  2026-11-28 → 2027-11-28
`);
  });

  it('shows conditions of machines, but not while one is made or leaves', async () => {
    const { progress, ...step } = rolling(0);
    if (progress === undefined) throw new Error('a rollout in progress has a progress');
    const unhealthy = ['NodeHealthy is False, NodeGone: away', 'EtcdPodHealthy is Missing'];
    const states = ['old', 'new', 'leaving'] as const;
    const machines = progress.machines.map((one, index) => ({ ...one, unhealthy, state: states[index] ?? 'old' }));
    const { stdout } = await ran(rolloutStatusCommand, { schedule: { ...step, progress: { ...progress, machines } } });
    expect(stdout.match(/NodeHealthy is False, NodeGone, and 1 more\n/g)).toHaveLength(1);
  });

  it('says what is held and why, with the runbook, and ends with status 1', async () => {
    const { status, stdout } = await ran(rolloutStatusCommand, { schedule: held() });
    expect(status).toBe(1);
    expect(stdout).toContain(
      '  ✖ Machine eksa-system/berlin-prod-4: in Provisioning\n    → Look at it · certmarshal runbook stuck\n',
    );
  });

  it('ends with status 1 where something could not be read', async () => {
    const { status, stdout } = await ran(rolloutStatusCommand, { observed: UNREADABLE, schedule: rolling(1) });
    expect(status).toBe(1);
    expect(stdout).toContain('answered 403');
  });

  it('is one document as JSON', async () => {
    const { stdout } = await ran(rolloutStatusCommand, { schedule: rolling(3, 'done') }, { output: 'json' });
    expect(JSON.parse(stdout)).toMatchObject({ version: 1, kind: 'status', step: { state: 'done' }, unread: [] });
  });
});

describe('certmarshal rollout abort', () => {
  const after = Date.parse(MARK.start);
  const going = healthyRollout({ controlPlane: controlPlane({ mark: MARK, rolloutAfter: after }) });
  const hold = { id: MARK.id, at: MARK.start, reason: 'stuck', message: 'no machine was made' };

  it.each([
    ['ours', going, '"abortedAt":"2026-11-28T02:30:00Z"}, spec.rollout.after removed'],
    [
      'held',
      healthyRollout({ controlPlane: controlPlane({ mark: MARK, hold }) }),
      'annotation certmarshal.dev/rollout-hold removed',
    ],
    [
      'with external etcd',
      healthyRollout({
        controlPlane: controlPlane({ mark: MARK, etcd: 'external', paused: pauseOf(MARK) }),
        etcd: etcd(),
      }),
      'annotation cluster.x-k8s.io/paused removed',
    ],
  ])('shows what it would write to one that is %s, and writes it with --yes', async (_, observed, field) => {
    const asked = await ran(rolloutAbortCommand, { observed });
    expect(asked).toMatchObject({ status: 1, stderr: 'Nothing was written: --yes does it.\n', acts: [] });
    expect(asked.stdout).toContain('  Would write KubeadmControlPlane eksa-system/berlin-prod: ');
    expect(asked.stdout).toContain(field);
    const done = await ran(rolloutAbortCommand, { observed }, { yes: true });
    expect(done).toMatchObject({ status: 0, stderr: '', acts: ['abort eksa-system/berlin-prod'] });
    expect(done.stdout).toMatch(/^✔ berlin-prod: aborts the rollout .*\n.*\n {2}Wrote KubeadmControlPlane /);
  });

  it('does not take what cannot be read for nothing', async () => {
    const { status, stdout, acts } = await ran(rolloutAbortCommand, { observed: UNREADABLE }, { yes: true });
    expect({ status, acts }).toEqual({ status: 1, acts: [] });
    expect(stdout).toMatch(/^✖ berlin-prod: its control plane could not be read: 1 problem; nothing was written\n/);
    expect(stdout.match(/answered 403/g)).toHaveLength(1);
    const json = await ran(rolloutAbortCommand, { observed: UNREADABLE }, { output: 'json' });
    expect(JSON.parse(json.stdout)).toMatchObject({
      kind: 'abort',
      step: { kind: 'hold', state: 'refused', reasons: [{ id: 'everything-read', object: UNREAD.object }] },
    });
  });

  it('is tried again when a controller was faster, and not for ever', async () => {
    for (const [writtenAt, tries, status, line] of [
      [3, 3, 0, /^✔ /],
      [99, 5, 1, /^✖ berlin-prod: not written: another client changed the object meanwhile\n/],
    ] as const) {
      const run = scripted({ observed: going });
      let acts = 0;
      const ports = {
        ...run.ports,
        act: async () => ({ kind: (acts += 1) < writtenAt ? ('overtaken' as const) : ('written' as const) }),
      };
      const command = rolloutAbortCommand(SUBJECT, { ...OPTIONS, yes: true }, signal, ports);
      const outcome = await outcomeOf(run, command);
      expect({ acts, status: outcome.status }).toEqual({ acts: tries, status });
      expect(outcome.stdout).toMatch(line);
    }
  });

  it('says that there is nothing to abort', async () => {
    const { status, acts, stdout } = await ran(rolloutAbortCommand, {}, { yes: true });
    expect({ status, acts }).toEqual({ status: 1, acts: [] });
    expect(stdout).toMatch(/^✖ berlin-prod: There is no rollout of certmarshal to abort; nothing was written\n/);
    expect(stdout).toContain('certmarshal runbook nothing-to-abort');
  });

  it('is one document as JSON', async () => {
    const { stdout } = await ran(rolloutAbortCommand, { observed: going }, { output: 'json', yes: true });
    expect(JSON.parse(stdout)).toMatchObject({
      kind: 'abort',
      step: { write: { kind: 'abort' } },
      written: { kind: 'written' },
      unread: [],
    });
  });
});
