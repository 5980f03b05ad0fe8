import { X509Certificate } from 'node:crypto';
import type { SimulatedApi } from './api.ts';
import { type Background, inBackground } from './background.ts';
import type { StoredCsr } from './kube-object.ts';

const HOUR = 3_600_000;

/**
 * The controller `csrcleaner`: once an hour it removes requests that nobody needs any more. What is approved but never
 * issued stays for ever. (pkg/controller/certificates/cleaner)
 */
export function startCsrCleaner({ clock, csrs }: SimulatedApi): Background {
  return inBackground(async (signal) => {
    for (;;) {
      await clock.sleep(HOUR, signal);
      for (const csr of csrs.all()) if (isDone(csr, clock.now())) csrs.remove(csr.metadata.name);
    }
  });
}

function isDone({ metadata, status: { conditions = [], certificate } }: StoredCsr, now: number): boolean {
  const isOlder = (time: string | undefined, hours: number): boolean =>
    time !== undefined && now - Date.parse(time) > hours * HOUR;
  if (conditions.length === 0) return isOlder(metadata.creationTimestamp, 24);
  if (certificate !== undefined) {
    const { validToDate } = new X509Certificate(Buffer.from(certificate, 'base64'));
    if (validToDate.getTime() < now) return true;
  }
  return conditions.some(({ type, lastUpdateTime }) => {
    const ends = type === 'Denied' || type === 'Failed' || (type === 'Approved' && certificate !== undefined);
    return ends && isOlder(lastUpdateTime, 1);
  });
}
