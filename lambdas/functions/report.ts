import { S3Client } from '@aws-sdk/client-s3';
import packageJson from '../../package.json' with { type: 'json' };
import { createEksReader } from '../aws/eks-clusters.ts';
import { createS3State } from '../aws/s3-state.ts';
import { createCredentials } from '../aws/spoke-credentials.ts';
import type { Fleet } from '../config/fleet.ts';
import { discoverEks } from '../fleet/discover.ts';
import { createTargetsOf } from '../fleet/fits-fleet.ts';
import { createReport, type ReportOptions, type TickResult } from '../fleet/report.ts';
import { eksSources, sourcesOf } from '../fleet/sources.ts';
import { tickOf } from '../fleet/tick.ts';
import { createTelemetry } from '../telemetry/telemetry.ts';
import { hubIdentity, lanes, readBesideBundle, requiredVariable } from './environment.ts';
import { createHandler } from './handler.ts';
import { createPageObjects, writePage } from './write-page.ts';

/** Reserved at the end of the invocation for writing the registry. */
const WRAP_UP_MS = 10_000;

const telemetry = createTelemetry('report');
const hub = hubIdentity();
const fleet = readBesideBundle<Fleet>(import.meta.url, 'fleet.json');
const monitoring = readBesideBundle<ReportOptions['monitoring']>(import.meta.url, 'monitoring.json');
const bucket = { client: new S3Client(), bucket: requiredVariable('STATE_BUCKET') };
const pages = createPageObjects(bucket);
const reader = createEksReader({ credentials: createCredentials({ sessionName: 'certmarshal-report' }) });
const report = createReport({
  fleet,
  targetsOf: createTargetsOf(fleet, hub),
  lanes: lanes(),
  monitoring,
  state: createS3State(bucket),
  sources: sourcesOf(fleet, hub),
  askedSources: eksSources(fleet.discovery, hub).map(({ name }) => name),
  discover: (only, previous, signal) =>
    discoverEks(fleet.discovery, hub, fleet.lanes, reader, signal, { only, previous }),
  publish: async (health, signal) => {
    // One tick in five writes a page.
    const { renderPage } = await import('../page/page.ts');
    const page = renderPage(health, { version: packageJson.version, runbooks: monitoring.runbooks });
    await writePage(page, pages, signal);
  },
  clock: Date.now,
  ...telemetry,
});

/** Called by the state machine with what became of the sweeps of its minute. */
export const handler = createHandler(telemetry, async (event: Omit<TickResult, 'tick'>, signal, context) => {
  const discovery = AbortSignal.timeout(Math.max(0, context.getRemainingTimeInMillis() - WRAP_UP_MS));
  const { shards, outcomes } = event;
  await report(
    { tick: tickOf(event, Date.now()), shards, outcomes },
    { discovery: AbortSignal.any([signal, discovery]), all: signal },
  );
});
