import type { FleetHealth } from '../health/fleet-health.ts';

export interface PageOptions {
  /** The whole page, in bytes; what is least urgent of the details is left out, and that is said. @default 1,000,000 */
  readonly largest?: number;
  /** Version of certmarshal. */
  readonly program: string;
}

/**
 * The report page: one HTML document that needs nothing else. Pure. Everything of a cluster is data in it, whatever it says.
 */
export function renderPage(_health: FleetHealth, _options: PageOptions): string {
  throw new Error('not built');
}
