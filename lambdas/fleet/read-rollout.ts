import type { HoldReason } from '../rollout/step.ts';
import { ROLLOUT_STATES } from '../rollout/step.ts';
import {
  type FailedCheck,
  type MachineSummary,
  MOST_FAILED,
  MOST_MACHINES,
  MOST_REASONS,
  PAGE_ID,
  type ProgressSummary,
  ROLLOUT_ID,
  ROLLOUT_LIMITS,
  type RolloutSummary,
} from './rollout-summary.ts';
import {
  count,
  fields,
  isDuring,
  list,
  mark,
  matching,
  oneOf,
  optional,
  present,
  type Read,
  ShapeError,
  text,
  time,
} from './shape.ts';

type Written = NonNullable<RolloutSummary['write']>;

const WRITES = [
  'roll-control-plane',
  'pause-control-plane',
  'roll-etcd',
  'unpause-control-plane',
  'hold',
  'resume',
  'abort',
  'update-node-group',
] as const satisfies readonly Written['kind'][];
const WRITTEN = [
  'written',
  'overtaken',
  'refused',
  'locked',
  'failed',
  'unknown',
  'nothing-to-roll',
] as const satisfies readonly Written['outcome'][];
const MACHINE_STATES = ['old', 'new', 'replaced', 'verified', 'leaving'] as const;
/** What is not visible is written out, with up to twice the characters. */
const cut = (limit: number) => text(2 * limit + 1);
const pageId = matching(PAGE_ID, 'the id of a page');

/** @throws ShapeError */
export const readRollout: Read<RolloutSummary> = (value, path) => {
  const summary = fields(value, path);
  return {
    state: oneOf(ROLLOUT_STATES)(summary['state'], `${path}.state`),
    message: cut(ROLLOUT_LIMITS.message)(summary['message'], `${path}.message`),
    at: time(summary['at'], `${path}.at`),
    failed: list(readCheck, MOST_FAILED)(summary['failed'], `${path}.failed`),
    failedCount: count(summary['failedCount'], `${path}.failedCount`),
    reasons: list(readReason, MOST_REASONS)(summary['reasons'], `${path}.reasons`),
    ...present({
      rollout: optional(readMark)(summary['rollout'], `${path}.rollout`),
      soonestEnd: optional(time)(summary['soonestEnd'], `${path}.soonestEnd`),
      span: optional(readSpan)(summary['span'], `${path}.span`),
      nextWindow: optional(time)(summary['nextWindow'], `${path}.nextWindow`),
      progress: optional(readProgress)(summary['progress'], `${path}.progress`),
      durationMs: optional(count)(summary['durationMs'], `${path}.durationMs`),
      write: optional(readWrite)(summary['write'], `${path}.write`),
    }),
  };
};

/** Of the sweep that began then. */
export function rolloutOf(startedAt: string): Read<RolloutSummary> {
  return (value, path) => {
    const summary = readRollout(value, path);
    if (!isDuring(startedAt, summary.at)) throw new ShapeError(`${path}.at is not of this sweep`);
    return summary;
  };
}

const readMark: Read<NonNullable<RolloutSummary['rollout']>> = (value, path) => {
  const rollout = fields(value, path);
  return {
    id: matching(ROLLOUT_ID, 'the id of a rollout')(rollout['id'], `${path}.id`),
    start: time(rollout['start'], `${path}.start`),
    trigger: oneOf(['schedule', 'person'])(rollout['trigger'], `${path}.trigger`),
    ...present({ abortedAt: optional(time)(rollout['abortedAt'], `${path}.abortedAt`) }),
  };
};

const readSpan: Read<NonNullable<RolloutSummary['span']>> = (value, path) => {
  const span = fields(value, path);
  return { from: time(span['from'], `${path}.from`), until: time(span['until'], `${path}.until`) };
};

const readCheck: Read<FailedCheck> = (value, path) => {
  const check = fields(value, path);
  return {
    id: pageId(check['id'], `${path}.id`),
    found: cut(ROLLOUT_LIMITS.text)(check['found'], `${path}.found`),
    ...present({
      object: optional(cut(ROLLOUT_LIMITS.object))(check['object'], `${path}.object`),
      remedy: optional(cut(ROLLOUT_LIMITS.text))(check['remedy'], `${path}.remedy`),
      passing: optional(mark)(check['passing'], `${path}.passing`),
    }),
  };
};

const readReason: Read<HoldReason> = (value, path) => {
  const reason = fields(value, path);
  return {
    id: pageId(reason['id'], `${path}.id`),
    ...present({ object: optional(cut(ROLLOUT_LIMITS.object))(reason['object'], `${path}.object`) }),
    message: cut(ROLLOUT_LIMITS.text)(reason['message'], `${path}.message`),
    remedy: cut(ROLLOUT_LIMITS.text)(reason['remedy'], `${path}.remedy`),
  };
};

const readPart: Read<Omit<ProgressSummary, 'etcd'>> = (value, path) => {
  const progress = fields(value, path);
  return {
    wanted: count(progress['wanted'], `${path}.wanted`),
    replaced: count(progress['replaced'], `${path}.replaced`),
    verified: count(progress['verified'], `${path}.verified`),
    machines: list(readMachine, MOST_MACHINES)(progress['machines'], `${path}.machines`),
    ...present({ movedAt: optional(time)(progress['movedAt'], `${path}.movedAt`) }),
  };
};

const readProgress: Read<ProgressSummary> = (value, path) => ({
  ...readPart(value, path),
  ...present({ etcd: optional(readPart)(fields(value, path)['etcd'], `${path}.etcd`) }),
});

const readMachine: Read<MachineSummary> = (value, path) => {
  const machine = fields(value, path);
  return {
    name: cut(ROLLOUT_LIMITS.name)(machine['name'], `${path}.name`),
    state: oneOf(MACHINE_STATES)(machine['state'], `${path}.state`),
    ...present({
      node: optional(cut(ROLLOUT_LIMITS.name))(machine['node'], `${path}.node`),
      createdAt: optional(time)(machine['createdAt'], `${path}.createdAt`),
      notBefore: optional(time)(machine['notBefore'], `${path}.notBefore`),
      notAfter: optional(time)(machine['notAfter'], `${path}.notAfter`),
    }),
  };
};

const readWrite: Read<Written> = (value, path) => {
  const write = fields(value, path);
  return {
    kind: oneOf(WRITES)(write['kind'], `${path}.kind`),
    outcome: oneOf(WRITTEN)(write['outcome'], `${path}.outcome`),
  };
};
