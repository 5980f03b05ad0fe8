import { type JsonObject, list, text } from '../resources/fields.ts';
import type { KubernetesClient } from './client.ts';
import { KubernetesError, type SkippedItem } from './errors.ts';

/** Where a page of a list is. */
export interface ListPosition {
  /** Undefined at its end. */
  readonly continueToken: string | undefined;
  /** `resourceVersion` of the list. */
  readonly version: string | undefined;
}

/** A page of a list as kubectl prints it: small, however large its objects are. */
export interface Table extends ListPosition {
  readonly rows: readonly Omit<SkippedItem, 'after'>[];
}

/** A row of a CertificateSigningRequest takes 200 bytes. */
const MAX_TABLE_BYTES = 1024 * 1024;

/** @returns undefined if the server has no table */
export async function readTable(
  client: KubernetesClient,
  path: string,
  query: Readonly<Record<string, string>>,
  signal: AbortSignal,
): Promise<Table | undefined> {
  try {
    const answer = await client.request({
      method: 'GET',
      path,
      query: { ...query, includeObject: 'None' },
      signal,
      asTable: true,
      maxResponseBytes: MAX_TABLE_BYTES,
    });
    // Every kind has the column Name. Source: Kubernetes, `certificateSigningRequestColumnDefinitions`.
    const columns = list(answer, 'columnDefinitions').map((column) => text(column, 'name'));
    const [name, signerName, username] = ['Name', 'SignerName', 'Requestor'].map((title) => columns.indexOf(title));
    const rows = list(answer, 'rows').map((row) => {
      const cells = list(row, 'cells');
      const cell = (index = -1) => (typeof cells[index] === 'string' ? cells[index] : undefined);
      return { name: cell(name), signerName: cell(signerName), username: cell(username) };
    });
    return answer['kind'] === 'Table' ? { rows, ...positionOf(answer) } : undefined;
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
