import { Template } from 'aws-cdk-lib/assertions';
import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { HUB_SIZES } from '../../../../lambdas/hub-sizes.ts';
import { EVERYTHING, fleetOf, resource, stacksOf, text } from '../stacks.ts';
import { type Answer, type Definition, type Execution, type FakeFunction, interpret } from './interpreter.ts';

const SECOND = 1_000;
const EXPRESS_MS = 300 * SECOND;
const START = Date.parse('2026-11-28T08:15:00.120Z');
const TICK = '2026-11-28T08:15:00Z';

/** What the template deploys, with logical ids for ARNs. */
function definitionOf(reservedConcurrency?: number): Definition {
  const hub = { ...EVERYTHING.hub, ...(reservedConcurrency === undefined ? {} : { reservedConcurrency }) };
  const fleet = reservedConcurrency === undefined ? fleetOf() : { ...EVERYTHING, hub };
  const template = Template.fromStack(stacksOf(fleet).hub);
  const { DefinitionString } = resource(template, 'AWS::StepFunctions::StateMachine', 'TickMachine').properties;
  const join = (part: unknown): string => {
    if (typeof part === 'string') return part;
    const { Ref, 'Fn::Join': parts, 'Fn::GetAtt': of } = part as Record<string, readonly unknown[]>;
    if (parts !== undefined) return (parts[1] as readonly unknown[]).map(join).join('');
    return text(of?.[0] ?? Ref).replace(/[0-9A-F]{8}$/, '');
  };
  return JSON.parse(join(DefinitionString));
}

const definition = definitionOf();
const onFiveSlots = definitionOf(5);
const sweepOf = (one: Definition) => one.States['Sweeps']?.ItemProcessor?.States['Sweep'];

interface Item {
  readonly function: string;
  readonly lane: string;
  readonly tick: number;
  readonly object: number;
  readonly shard: number;
}

interface ReportEvent {
  readonly tick: string;
  readonly error?: string;
  readonly shards?: readonly Item[];
  readonly outcomes?: readonly { readonly shard: number; readonly error?: string }[];
}

/** Shape: AWS Step Functions Developer Guide, "Invoke an AWS Lambda function with Step Functions". */
function invoked(payload: unknown): object {
  const HttpHeaders = {
    Connection: 'keep-alive',
    'Content-Length': String(JSON.stringify(payload).length),
    'Content-Type': 'application/json',
    Date: 'Sat, 28 Nov 2026 08:15:03 GMT',
    'X-Amz-Executed-Version': '$LATEST',
    'x-amzn-Remapped-Content-Length': '0',
    'x-amzn-RequestId': '3e9f2f6a-9c3b-4d63-8b8b-0f2f4d5f7a10',
    'X-Amzn-Trace-Id': 'root=1-6927a8d4-1f0a2b3c4d5e6f7081920a1b;parent=53995c3f42cd8ad8;sampled=0',
  };
  const AllHttpHeaders = Object.fromEntries(Object.entries(HttpHeaders).map(([name, value]) => [name, [value]]));
  return {
    ExecutedVersion: '$LATEST',
    Payload: payload,
    SdkHttpMetadata: { AllHttpHeaders, HttpHeaders, HttpStatusCode: 200 },
    SdkResponseMetadata: { RequestId: HttpHeaders['x-amzn-RequestId'] },
    StatusCode: 200,
  };
}

const ok = (ms: number, payload: unknown = null): Answer => ({ ms, result: invoked(payload) });
const failure = (name: string, ms = 200, cause = ''): Answer => ({ ms, error: { name, cause } });
const HANG: Answer = { ms: Number.POSITIVE_INFINITY };

function shards(count: number, lane = (_shard: number) => 'default'): readonly Item[] {
  return Array.from({ length: count }, (_, shard) => {
    const name = lane(shard);
    const object = Math.floor(shard / 8);
    return { function: `CertMarshal-sweep-${name}`, lane: name, tick: Date.parse(TICK), object, shard };
  });
}

/** A sweep that works on its shard for so long, ends itself, and begins nothing late, as lambdas/functions/sweep.ts. */
function sweeping(work: (item: Item) => Answer): FakeFunction {
  return ({ item, began }: { item: Item; began: string }, now) => {
    if (now - Date.parse(began) > 200 * SECOND) return failure('NotBegun', 100);
    const answer = work(item);
    return answer.result === undefined ? answer : { ...answer, ms: Math.min(answer.ms, 45 * SECOND) };
  };
}

const swept = (seconds: number) => sweeping(({ shard }) => ok(seconds * SECOND, { shard }));

interface Scene {
  readonly plan?: Answer;
  readonly items?: readonly Item[];
  readonly sweep?: FakeFunction;
  readonly report?: Answer;
  readonly machine?: Definition;
}

function runTick({ items = shards(4), plan, sweep = swept(5), report = ok(20 * SECOND), machine }: Scene) {
  const execution = interpret(
    machine ?? definition,
    { tick: TICK },
    {
      Plan: () => plan ?? ok(4 * SECOND, items),
      'CertMarshal-sweep-default': sweep,
      'CertMarshal-sweep-onprem': sweep,
      Report: () => report,
    },
    START,
  );
  const reports = execution.calls.filter(({ name }) => name === 'Report');
  const [event] = reports.map(({ payload }) => payload as ReportEvent);
  return { ...execution, reports, event, outcomes: event?.outcomes ?? [] };
}

/** Report ran once, to its end, within the time of an Express execution. */
function expectReport({ reports }: { readonly reports: Execution['calls'] }): void {
  expect(reports).toHaveLength(1);
  expect((reports[0]?.until ?? Number.NaN) - START).toBeLessThanOrEqual(EXPRESS_MS);
}

const errorsIn = (outcomes: ReportEvent['outcomes'] = []) =>
  Object.fromEntries(
    [...Map.groupBy(outcomes, ({ error }) => error ?? 'heard')].map(([error, same]) => [error, same.length]),
  );

describe('the definition of a tick', () => {
  const Retry = [
    {
      ErrorEquals: ['Lambda.TooManyRequestsException', 'Lambda.ServiceException', 'Lambda.SdkClientException'],
      IntervalSeconds: 1,
      BackoffRate: 2,
      MaxAttempts: 3,
      JitterStrategy: 'FULL',
    },
  ];
  const task = (TimeoutSeconds: number, Parameters: object) => ({
    Type: 'Task',
    Resource: 'arn:aws:states:::lambda:invoke',
    Parameters,
    TimeoutSeconds,
    Retry,
  });
  const reportOf = (payload: object) =>
    task(55, { FunctionName: 'Report', Payload: { 'tick.$': '$.tick', ...payload } });
  const caught = (Next: string) => [{ ErrorEquals: ['States.ALL'], ResultPath: '$.error', Next }];

  it('is plan, a Map of at most 40 sweeps, and report', () => {
    expect(definition).toEqual({
      StartAt: 'Plan',
      States: {
        Plan: {
          ...task(30, { FunctionName: 'Plan', 'Payload.$': '$' }),
          ResultSelector: { 'shards.$': '$.Payload' },
          ResultPath: '$.plan',
          Catch: caught('ReportFailure'),
          Next: 'Sweeps',
        },
        Sweeps: {
          Type: 'Map',
          ItemsPath: '$.plan.shards',
          ItemSelector: { 'began.$': '$$.Execution.StartTime', 'item.$': '$$.Map.Item.Value' },
          MaxConcurrency: 40,
          ItemProcessor: {
            ProcessorConfig: { Mode: 'INLINE' },
            StartAt: 'Sweep',
            States: {
              Sweep: {
                ...task(55, { 'FunctionName.$': '$.item.function', 'Payload.$': '$' }),
                ResultSelector: { 'shard.$': '$.Payload.shard' },
                Catch: caught('NotHeard'),
                End: true,
              },
              NotHeard: {
                Type: 'Pass',
                Parameters: { 'error.$': '$.error.Error', 'shard.$': '$.item.shard' },
                End: true,
              },
            },
          },
          ResultPath: '$.outcomes',
          Catch: caught('ReportFailure'),
          Next: 'Report',
        },
        Report: { ...reportOf({ 'outcomes.$': '$.outcomes', 'shards.$': '$.plan.shards' }), End: true },
        ReportFailure: { ...reportOf({ 'error.$': '$.error.Error' }), ResultPath: null, Next: 'Failure' },
        Failure: {
          Type: 'Fail',
          Error: 'NotPlanned',
          Cause: 'Plan or Sweeps failed; the log of this execution says why.',
        },
      },
    });
    expect(onFiveSlots.States['Sweeps']?.MaxConcurrency).toBe(5);
    expect(definitionOf(1_000).States['Sweeps']?.MaxConcurrency).toBe(40);
  });

  it('gives no task more time than its function has', () => {
    const { plan, sweep, report } = HUB_SIZES;
    expect(definition.States['Plan']?.TimeoutSeconds).toBe(plan.timeoutSeconds);
    expect(sweepOf(definition)?.TimeoutSeconds).toBe(sweep.timeoutSeconds);
    expect(definition.States['Report']?.TimeoutSeconds).toBe(report.timeoutSeconds);
  });
});

describe('a tick', () => {
  it('hands report the shards and what became of them, in their order', () => {
    const tick = runTick({ items: shards(3) });
    expect(tick).toMatchObject({ status: 'SUCCEEDED', ms: 29 * SECOND });
    expect(tick.event).toEqual({ tick: TICK, shards: shards(3), outcomes: [0, 1, 2].map((shard) => ({ shard })) });
  });

  it('hands each sweep its item and when the execution began', () => {
    const [, call] = runTick({ items: shards(1) }).calls;
    expect(call?.payload).toEqual({ item: shards(1)[0], began: new Date(START).toISOString() });
  });

  it('goes on without a cluster', () => {
    const tick = runTick({ items: [] });
    expect(tick.event).toEqual({ tick: TICK, shards: [], outcomes: [] });
    expectReport(tick);
  });

  it('keeps neither cause nor metadata: 400 shards, of which half fail with 32 kB', () => {
    const cause = 'x'.repeat(32_000);
    const sweep = sweeping(({ shard }) =>
      shard % 2 === 0 ? failure('Lambda.Unknown', 200, cause) : ok(200, { shard }),
    );
    const tick = runTick({ items: shards(400), sweep });
    expect(tick.status).toBe('SUCCEEDED');
    expect(tick.outputs['Sweeps']).toBeLessThan(100_000);
    expect(errorsIn(tick.outcomes)).toEqual({ heard: 200, 'Lambda.Unknown': 200 });
    expectReport(tick);
    // Without the selector good answers alone end it before report.
    const { ResultSelector: _, ...careless } = sweepOf(definition) ?? { Type: 'Task' as const };
    const machine = withSweep(careless);
    expect(runTick({ items: shards(400), machine })).toMatchObject({
      status: 'FAILED',
      error: 'States.DataLimitExceeded',
      reports: [],
    });
  });

  it('reports in time with 157 shards on five slots: what did not begin says so', () => {
    const tick = runTick({ items: shards(157), sweep: swept(45), machine: onFiveSlots });
    expect(tick.status).toBe('SUCCEEDED');
    expectReport(tick);
    expect(errorsIn(tick.outcomes)).toEqual({ heard: 25, NotBegun: 132 });
    // Sweeps that always begin would not leave it the time.
    const stubborn: FakeFunction = ({ item }: { item: Item }) => ok(45 * SECOND, { shard: item.shard });
    expect(runTick({ items: shards(157), sweep: stubborn, machine: onFiveSlots })).toMatchObject({
      status: 'TIMED_OUT',
      reports: [],
    });
  });

  it('reports in time beside a lane that hangs', () => {
    const items = shards(120, (shard) => (shard % 2 === 0 ? 'default' : 'onprem'));
    const sweep = sweeping(({ lane, shard }) => (lane === 'onprem' ? HANG : ok(5 * SECOND, { shard })));
    const tick = runTick({ items, sweep });
    expect(tick.status).toBe('SUCCEEDED');
    expectReport(tick);
    expect(errorsIn(tick.outcomes)).toEqual({ heard: 60, 'States.Timeout': 60 });
    const lost = tick.outcomes.filter(({ error }) => error !== undefined);
    expect(new Set(lost.map(({ shard }) => items[shard]?.lane))).toEqual(new Set(['onprem']));
  });

  it('reports in time with 500 silent clusters, 50 of them alone', () => {
    const tick = runTick({ items: shards(157 + 50), sweep: swept(45) });
    expect(tick.status).toBe('SUCCEEDED');
    expectReport(tick);
  });

  it.each<[string, Answer, string]>([
    ['throws', failure('AwsError'), 'AwsError'],
    ['is killed', failure('Lambda.Unknown', 3 * SECOND), 'Lambda.Unknown'],
    ['hangs', HANG, 'States.Timeout'],
    ['is throttled', failure('Lambda.TooManyRequestsException', 20), 'Lambda.TooManyRequestsException'],
  ])('reports where plan %s, and fails after that', (_, plan, error) => {
    const tick = runTick({ plan });
    expect(tick.event).toEqual({ tick: TICK, error });
    expectReport(tick);
    expect(tick).toMatchObject({ status: 'FAILED', error: 'NotPlanned' });
  });

  it.each<[string, Answer, string]>([
    ['throws', failure('AwsError'), 'AwsError'],
    ['hangs', HANG, 'States.Timeout'],
  ])('fails where report %s', (_, report, error) => {
    expect(runTick({ report })).toMatchObject({ status: 'FAILED', error });
  });

  it('tries a throttled shard three times more, and no shard that began', () => {
    const throttled: FakeFunction = () => failure('Lambda.TooManyRequestsException', 20);
    const tick = runTick({ items: shards(1), sweep: throttled });
    expect(tick.outcomes).toEqual([{ shard: 0, error: 'Lambda.TooManyRequestsException' }]);
    const begins = tick.calls.filter(({ name }) => name.includes('sweep')).map(({ from }) => from);
    expect(begins.map((begin) => begin - (begins[0] ?? 0))).toEqual([0, 1_020, 3_040, 7_060]);
    for (const answer of [failure('Error'), failure('Lambda.Unknown'), HANG])
      expect(runTick({ items: shards(1), sweep: () => answer }).calls).toHaveLength(3);
  });

  it('sweeps what an account with ten concurrent executions allows', () => {
    const sweep: FakeFunction = (payload: { item: Item; began: string }, now, running) =>
      running >= 10 ? failure('Lambda.TooManyRequestsException', 20) : swept(2)(payload as never, now, running);
    const tick = runTick({ items: shards(40), sweep });
    expectReport(tick);
    expect(errorsIn(tick.outcomes)['heard']).toBeGreaterThanOrEqual(20);
  });

  it('reports in time, whatever sweeps do', () => {
    const hundred = fc.array(fc.oneof(fc.constant('hang'), fc.constant('error'), fc.integer({ min: 1, max: 60 })), {
      maxLength: 200,
    });
    fc.assert(
      fc.property(
        hundred,
        fc.integer({ min: 0, max: 29 }),
        fc.constantFrom(definition, onFiveSlots),
        (all, slow, machine) => {
          const sweep = sweeping(({ shard }) => {
            const what = all[shard];
            if (what === 'hang') return HANG;
            return typeof what === 'number' ? ok(what * SECOND, { shard }) : failure('Error');
          });
          const items = shards(all.length);
          const tick = runTick({ plan: ok(slow * SECOND, items), sweep, machine });
          expect(tick.status).toBe('SUCCEEDED');
          expectReport(tick);
          expect(tick.outcomes.map(({ shard }) => shard)).toEqual(items.map(({ shard }) => shard));
        },
      ),
    );
  });
});

describe('the interpreter', () => {
  it('refuses what it does not know', () => {
    const States = { A: { Type: 'Pass', OutputPath: '$' } } as never;
    expect(() => interpret({ StartAt: 'A', States }, {}, {}, START)).toThrow('does not know OutputPath');
  });
});

function withSweep(sweep: NonNullable<ReturnType<typeof sweepOf>>): Definition {
  const { Sweeps, ...others } = definition.States;
  if (Sweeps?.ItemProcessor === undefined) throw new Error('no Map');
  const States = { ...Sweeps.ItemProcessor.States, Sweep: sweep };
  return {
    ...definition,
    States: { ...others, Sweeps: { ...Sweeps, ItemProcessor: { ...Sweeps.ItemProcessor, States } } },
  };
}
