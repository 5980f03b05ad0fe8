import { writeFile } from 'node:fs/promises';
import { type FleetHealth, fleetHealth, type Monitoring } from '../../lambdas/health/fleet-health.ts';
import { renderPage } from '../../lambdas/page/page.ts';
import { EXIT, UsageError } from '../exit-codes.ts';
import { systemErrorWords } from '../system-error.ts';
import { counted } from '../terminal/plural.ts';
import {
  awsErrorWords,
  bucketReader,
  directoryReader,
  type FleetState,
  readSnapshots,
  readState,
} from './report-sources.ts';

/** Where the state of the fleet is: exactly one of them. */
export interface ReportSource {
  readonly bucket?: string;
  readonly state?: string;
  readonly snapshots?: string;
}

export interface ReportOptions extends ReportSource {
  /** A file, `-` for the page on standard output, or `json` for the data it is made of. */
  readonly output: string;
  /** Version of certmarshal. */
  readonly version: string;
}

/** What a report needs beside the state; tests have their own. */
export interface ReportDependencies {
  readonly stdout: NodeJS.WritableStream;
  readonly stderr: NodeJS.WritableStream;
  readonly clock: () => number;
}

/**
 * Makes the report page of a fleet. Its first line tells the story of the page.
 *
 * @returns the exit status: `incomplete` when something of the state could not be read, or the page not be written
 * @throws UsageError
 */
export async function reportCommand(
  options: ReportOptions,
  monitoring: Monitoring,
  signal: AbortSignal,
  { stdout, stderr, clock }: ReportDependencies = {
    ...process,
    stdout: process.stdout,
    stderr: process.stderr,
    clock: Date.now,
  },
): Promise<number> {
  const now = clock();
  const state = await stateOf(options, now, signal);
  if (typeof state === 'string') {
    stderr.write(`${state}\n`);
    return EXIT.incomplete;
  }
  const health = fleetHealth(state.registry, state.index, monitoring, now);
  const status = state.problems.length === 0 ? EXIT.done : EXIT.incomplete;
  const complain = () => state.problems.forEach((problem) => stderr.write(`${problem}\n`));
  const { output } = options;
  if (output === 'json') {
    stdout.write(`${JSON.stringify(health)}\n`);
    complain();
    return status;
  }
  const page = renderPage(health, { program: options.version });
  if (output === '-') {
    stdout.write(page);
    stderr.write(`${story('report', health, page)}\n`);
    complain();
    return status;
  }
  try {
    await writeFile(output, page);
  } catch (error) {
    stderr.write(`${output} cannot be written: ${systemErrorWords(error)}.\n`);
    return EXIT.incomplete;
  }
  stdout.write(`${story(output, health, page)}\n`);
  complain();
  return status;
}

/** A sentence says why there is none. */
async function stateOf(source: ReportSource, now: number, signal: AbortSignal): Promise<FleetState | string> {
  const { bucket, state, snapshots } = source;
  if ([bucket, state, snapshots].filter((place) => place !== undefined).length !== 1)
    throw new UsageError(
      'Name one place of the state: --bucket NAME of a hub, --state DIRECTORY with a copy of its objects, or --snapshots DIRECTORY that audits wrote.',
    );
  if (snapshots !== undefined) return readSnapshots(snapshots, now);
  if (state !== undefined) return readState(directoryReader(state), state, now);
  const [{ S3Client }, { createJsonObjects }] = await Promise.all([
    import('@aws-sdk/client-s3'),
    import('../../lambdas/aws/json-objects.ts'),
  ]);
  const name = bucket ?? '';
  try {
    const objects = createJsonObjects({ client: new S3Client(), bucket: name });
    return await readState(bucketReader(objects, signal), `s3://${name}`, now);
  } catch (error) {
    if (error instanceof UsageError) throw error;
    return awsErrorWords(error);
  }
}

/** `report.html: 214 clusters, 2 critical, 3 warnings, 180 kB`. */
function story(name: string, { clusters, counts }: FleetHealth, page: string): string {
  const others = [
    ...(counts.new > 0 ? [`${counts.new} new`] : []),
    ...(counts.maintenance > 0 ? [`${counts.maintenance} in maintenance`] : []),
    ...(counts.gone > 0 ? [`${counts.gone} gone`] : []),
  ];
  return [
    `${name}: ${counted(clusters.length - counts.gone, 'cluster')}`,
    `${counts.critical} critical`,
    counted(counts.warning, 'warning'),
    ...others,
    `${Math.ceil(Buffer.byteLength(page) / 1000)} kB`,
  ].join(', ');
}
