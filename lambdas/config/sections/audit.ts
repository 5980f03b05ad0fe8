import { z } from 'zod';
import { printable } from '../../printable.ts';
import { CERTIFICATE_CLASSES, type CertificateClass, type Threshold } from '../../tables/certificate-classes.ts';
import { FINDING_CODES } from '../../tables/finding-codes.ts';
import { keysOf } from '../../tables/keys.ts';
import { formatDuration } from '../duration.ts';
import { DEFAULT_AUDIT } from '../fleet.ts';
import { instant } from '../time-values.ts';
import { duration, list, oneCluster, section, text, wanted, wrong } from '../values.ts';
import { repeats, type Written } from '../written.ts';

/** An audit gets the time that sweeps leave; each minute it is the turn of a part of the fleet. */
const SHORTEST_SECONDS = 5 * 60;
const MAX_SECONDS = 24 * 60 * 60;

/** No certificate may pass a ceiling and expire between two audits. */
const LOWEST_CEILING_SECONDS = MAX_SECONDS;

const SHARE_FORM = 'write the share of the lifetime that is left, above 0 and at most 1, for example 0.2';

// oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the keys of a constant
const CLASS_NAMES = Object.keys(CERTIFICATE_CLASSES) as CertificateClass[];

/** When a certificate becomes a finding. */
const Level = z.strictObject({
  share: z
    .number(wanted(SHARE_FORM))
    .gt(0, { error: SHARE_FORM })
    .lte(1, wrong(`is more than the whole lifetime; ${SHARE_FORM}`))
    .meta({ description: 'When less than this share of the lifetime is left; 0.2 is a fifth.', examples: [0.2] }),
  floor: duration()
    .prefault('0s')
    .meta({
      description:
        'Or when less than this is left, if that is earlier. Never earlier than twice the share, so that short lifetimes do not fire all the time; this limit does not apply to certificates that only people renew. Default: 0s.',
      examples: ['14d'],
    }),
  ceiling: duration((seconds) =>
    seconds < LOWEST_CEILING_SECONDS ? 'is too late for anyone to act; write 1d or more' : undefined,
  )
    .exactOptional()
    .meta({
      description:
        'But never when more than this is left, so that a certificate of many years is not a finding years before it expires; 1d or more. Default: no ceiling.',
      examples: ['90d'],
    }),
});

const ThresholdEntry = z.strictObject({
  classes: list(z.enum(CLASS_NAMES))
    .exactOptional()
    .meta({
      description:
        'Classes of certificates that this applies to. Default: every class that no other entry or built-in threshold names.',
      examples: [['kubelet-serving']],
    }),
  warning: Level.meta({
    description: 'When it is a warning.',
    examples: [{ share: 0.2, floor: '14d', ceiling: '90d' }],
  }),
  critical: Level.meta({
    description: 'When it is critical.',
    examples: [{ share: 0.05, floor: '3d', ceiling: '21d' }],
  }),
});

const Acceptance = z
  .strictObject({
    cluster: oneCluster.meta({
      description: 'Id of the cluster in the fleet. Each entry names one cluster.',
      examples: ['berlin-prod'],
    }),
    code: z
      .enum(keysOf(FINDING_CODES))
      .meta({ description: 'Code of the finding.', examples: ['KubeletAddressMissing'] }),
    object: text('the object of the finding, as its JSON has it')
      .exactOptional()
      .meta({
        description: 'Only the finding about this object, as its JSON has it. Default: every finding with this code.',
        examples: ['kubelet-serving worker-3'],
      }),
    until: instant.meta({ description: 'When it counts again.', examples: ['2027-01-31T18:00:00+01:00'] }),
    reason: text('why, in a few words')
      .min(1, wrong('says nothing; write why, in a few words'))
      .meta({
        description: 'Why; it is shown with the finding.',
        examples: ['replaced with the hardware in January'],
      }),
  })
  .meta({ title: 'Accepted finding' });

/** `audit`: how often certificates are read, and when one is a finding. */
export const Audit = section(
  z
    .strictObject({
      every: duration(everyProblem)
        .prefault('15m')
        .meta({
          description:
            'How often each cluster is audited: whole minutes, from 5m to 24h. Clusters take turns. Default: 15m.',
          examples: ['15m'],
        }),
      thresholds: z
        .array(ThresholdEntry)
        .nullish()
        .describe(
          'When a certificate becomes a finding. Built in: a fifth of the lifetime or 14 days for a warning, at most 90 days; a twentieth or 3 days for critical, at most 21 days; earlier for CAs, later for certificates that kubelets and EKS renew automatically.',
        ),
      accept: z
        .array(Acceptance)
        .nullish()
        .describe(
          'Findings that are known and accepted until a date: they are shown, and fire no alarm. Two weeks before the date a warning says so.',
        ),
    })
    .transform(({ every, thresholds, accept }) => ({
      everyMinutes: every / 60,
      thresholds: resolved(thresholds ?? []),
      accept: accept ?? [],
    })),
  {},
).describe('How often the certificates of each cluster are checked, and when one is a finding.');

function everyProblem(seconds: number): string | undefined {
  if (seconds < SHORTEST_SECONDS) return 'is too often for a whole fleet; write 5m or more';
  if (seconds > MAX_SECONDS) return 'is too rare to rely on; write 24h or less';
  return seconds % 60 === 0
    ? undefined
    : `is not a whole number of minutes; write, for example, ${Math.round(seconds / 60)}m`;
}

function resolved(entries: readonly z.output<typeof ThresholdEntry>[]) {
  const general = entries.find(({ classes }) => classes === undefined);
  const named = entries.flatMap((entry) => (entry.classes ?? []).map((name) => [name, levelsOf(entry)] as const));
  return {
    default: general === undefined ? DEFAULT_AUDIT.thresholds.default : levelsOf(general),
    classes: { ...DEFAULT_AUDIT.thresholds.classes, ...Object.fromEntries(named) },
  };
}

function levelsOf({ warning, critical }: z.output<typeof ThresholdEntry>) {
  const level = ({ share, floor, ceiling }: typeof warning): Threshold => ({
    share,
    floorMs: floor * 1_000,
    ...(ceiling === undefined ? {} : { ceilingMs: ceiling * 1_000 }),
  });
  return { warning: level(warning), critical: level(critical) };
}

export function auditRules(audit: Written<typeof Audit>): void {
  const { entries } = audit.at('thresholds');
  distinctClasses(entries);
  for (const entry of entries) {
    const [warning, critical] = [entry.at('warning'), entry.at('critical')];
    const [share, lessShare] = [warning.at('share').valid, critical.at('share').valid];
    if (share !== undefined && lessShare !== undefined && lessShare >= share)
      critical.refuse(
        `${lessShare} is not below warning.share, ${share}; nothing would be a warning before it is critical, so write less`,
        'share',
      );
    const [floor, lessFloor] = [warning.at('floor').valid, critical.at('floor').valid];
    if (floor !== undefined && lessFloor !== undefined && lessFloor > floor)
      critical.refuse(
        `${formatDuration(lessFloor)} is above warning.floor, ${formatDuration(floor)}; write at most that`,
        'floor',
      );
    ceilingRules(warning, critical);
  }
}

function ceilingRules(warning: Written<typeof Level>, critical: Written<typeof Level>): void {
  for (const level of [warning, critical]) {
    const [floor, ceiling] = [level.at('floor').valid, level.at('ceiling').valid];
    if (floor !== undefined && ceiling !== undefined && floor > ceiling)
      level.refuse(
        `${formatDuration(ceiling)} is below floor, ${formatDuration(floor)}; write at least that`,
        'ceiling',
      );
  }
  const [ceiling, lessCeiling] = [warning.at('ceiling').valid, critical.at('ceiling')];
  if (ceiling === undefined) return;
  if (lessCeiling.isMissing)
    critical.refuse(
      `warning has a ceiling, ${formatDuration(ceiling)}, and critical has none; a long life would be critical before it is a warning, so write a ceiling below that`,
    );
  else if (lessCeiling.valid !== undefined && lessCeiling.valid >= ceiling)
    lessCeiling.refuse(
      `${formatDuration(lessCeiling.valid)} is not below warning.ceiling, ${formatDuration(ceiling)}; nothing would be a warning before it is critical, so write less`,
    );
}

/** With two thresholds for one class it is unclear which one counts. */
function distinctClasses(entries: readonly Written<typeof ThresholdEntry>[]): void {
  const general = entries.filter((entry) => entry.at('classes').isMissing);
  for (const [entry, { place }] of repeats(general, () => ''))
    entry.refuse(`${place} names no classes either; write classes in one of them, or remove one`);
  const named = entries.flatMap((entry) => entry.at('classes').entries.map((name) => ({ entry, name })));
  for (const [{ name }, { entry }, key] of repeats(named, (one) => one.name.text))
    name.refuse(`"${printable(key, 60)}" is in ${entry.place} already; keep one of the two`);
}
