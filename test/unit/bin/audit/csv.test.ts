import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { auditCsv } from '../../../../bin/commands/audit/csv.ts';
import { certificateOf, reportOf } from './audits.ts';

/** As RFC 4180 has it. */
function parseCsv(text: string): string[][] {
  const rows: string[][] = [];
  let row: string[] = [];
  for (const [, quoted, plain = '', end] of text.matchAll(/(?:"((?:[^"]|"")*)"|([^",\r\n]*))(,|\r\n)/g)) {
    row.push(quoted === undefined ? plain : quoted.replaceAll('""', '"'));
    if (end === ',') continue;
    rows.push(row);
    row = [];
  }
  return rows;
}

describe('an audit as CSV', () => {
  it('has a row for each certificate seen at a place, the one that ends first in front', () => {
    const later = certificateOf({ where: '10.0.1.32:2379', position: 1, notAfter: '2035-01-01T00:00:00.000Z' });
    expect(auditCsv(reportOf([later, certificateOf({ member: 'Machine a/b' })]))).toBe(
      [
        'cluster,class,where,position,member,not_before,not_after,basis,subject,issuer,serial_number,fingerprint,key,renewed_by,source,observed_at',
        `berlin,etcd-server,10.0.1.31:2379,0,Machine a/b,2025-12-03T08:11:00.000Z,2026-12-03T08:11:00.000Z,certificate,CN=etcd-1,CN=etcd-ca,0a,${'ab'.repeat(32)},RSA-2048,a rollout of the machines that run etcd,tls,2026-11-21T09:59:58.000Z`,
        `berlin,etcd-server,10.0.1.32:2379,1,,2025-12-03T08:11:00.000Z,2035-01-01T00:00:00.000Z,certificate,CN=etcd-1,CN=etcd-ca,0a,${'ab'.repeat(32)},RSA-2048,a rollout of the machines that run etcd,tls,2026-11-21T09:59:58.000Z`,
      ]
        .map((row) => `"${row.replaceAll(',', '","')}"\r\n`)
        .join(''),
    );
  });

  it('has its row of names where there is no certificate', () => {
    expect(parseCsv(auditCsv(reportOf()))).toHaveLength(1);
  });

  it('quotes every cell, because a semicolon ends one where decimals have a comma', () => {
    const [, row = ''] = auditCsv(reportOf([certificateOf({ subject: 'x;=1+1' })])).split('\r\n');
    expect(row).toContain(',"x;=1+1",');
    expect(row.split('","')).toHaveLength(16);
  });

  it('comes back as it went in, and never as a formula', () => {
    fc.assert(
      fc.property(
        fc.string({
          unit: fc.constantFrom('=', '+', '-', '@', '\t', '\r', '\n', '"', ',', ';', ' ', 'a', '1'),
          maxLength: 12,
        }),
        (subject) => {
          const [names = [], row = []] = parseCsv(auditCsv(reportOf([certificateOf({ subject })])));
          expect(row).toHaveLength(names.length);
          const cell = row[names.indexOf('subject')] ?? '';
          expect(cell).toBe(/^[=+\-@\t\r]/.test(subject) ? `'${subject}` : subject);
        },
      ),
      { seed: 42 },
    );
  });
});
