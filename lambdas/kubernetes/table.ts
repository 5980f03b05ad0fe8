import { type JsonObject, list, text } from '../resources/fields.ts';
import type { KubernetesClient } from './client.ts';
import { KubernetesError, type SkippedItem } from './errors.ts';
import { pageRoom } from './page-room.ts';

/** Where a page of a list is. */
export interface ListPosition {
  readonly continueToken: string | undefined;
  /** `resourceVersion` of the list. */
  readonly version: string | undefined;
}

export interface Table extends ListPosition {
  readonly rows: readonly Omit<SkippedItem, 'after'>[];
}

/** A Node has up to 1.5 MiB in its columns, and JSON escapes some characters as six. */
const MAX_TABLE_BYTES = 10 * 1024 * 1024;

/** A page of a list as kubectl prints it, without its objects. Undefined if the server makes no table. */
export async function readTable(
  client: KubernetesClient,
  path: string,
  query: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<Table | undefined> {
  // Of its own: the page whose items it names is still held.
  using room = pageRoom();
  const call = {
    method: 'GET',
    path,
    query: { ...query, includeObject: 'None' },
    signal,
    room,
    asTable: true,
  } as const;
  try {
    const answer = await client.request({ ...call, maxResponseBytes: MAX_TABLE_BYTES });
    if (answer['kind'] !== 'Table') return undefined;
    // Every kind has the column Name. Source: Kubernetes, `certificateSigningRequestColumnDefinitions`.
    const columns = list(answer, 'columnDefinitions').map((column) => text(column, 'name'));
    const rows = list(answer, 'rows').map((row) => {
      const cells = list(row, 'cells');
      const cell = (title: string): string | undefined => {
        const value = cells[columns.indexOf(title)];
        return typeof value === 'string' ? value : undefined;
      };
      return { name: cell('Name'), signerName: cell('SignerName'), username: cell('Requestor') };
    });
    return { rows, ...positionOf(answer) };
  } catch (error) {
    if (!(error instanceof KubernetesError)) throw error;
    return undefined;
  }
}

export function positionOf(answer: JsonObject): ListPosition {
  return {
    continueToken: text(answer, 'metadata', 'continue') || undefined,
    version: text(answer, 'metadata', 'resourceVersion') || undefined,
  };
}
