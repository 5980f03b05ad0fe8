import * as fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { field } from '../../../lambdas/resources/fields.ts';
import { readSigningRequest } from '../../../lambdas/resources/signing-request.ts';
import { instant } from '../../../lambdas/time.ts';
import { csrObject, NOW } from '../approval/fixtures.ts';

const good = csrObject({ expirationSeconds: 3600, conditions: ['Approved'] });
const withSpec = (change: object) => ({ ...good, spec: { ...good.spec, ...change } });
const withStatus = (status: unknown) => ({ ...good, status });
const withMetadata = (change: object) => ({ ...good, metadata: { ...good.metadata, ...change } });
const read = (object: unknown) => {
  const reading = readSigningRequest(object);
  return reading.ok ? reading.csr : undefined;
};

describe('readSigningRequest', () => {
  it('reads what an API server writes', () => {
    expect(readSigningRequest(good)).toEqual({
      ok: true,
      csr: {
        name: 'csr-1',
        uid: 'uid-of-csr-1',
        resourceVersion: '42',
        createdAt: NOW - 12_000,
        deleting: false,
        signerName: 'kubernetes.io/kubelet-serving',
        username: 'system:node:node-1',
        groups: ['system:nodes', 'system:authenticated'],
        credentials: [],
        usages: ['digital signature', 'server auth'],
        expirationSeconds: 3600,
        request: Buffer.from(good.spec.request, 'base64'),
        conditions: [{ type: 'Approved', status: 'True', reason: 'ByHand' }],
        issued: false,
      },
    });
  });

  it.each([
    ['absent', undefined],
    ['null', null],
    ['empty', {}],
    ['of nulls', { conditions: null, certificate: null }],
  ])('takes a request whose status is %s for undecided', (_, status) => {
    expect(read(withStatus(status))).toMatchObject({ conditions: [], issued: false });
  });

  it('takes an absent status and an absent reason of a condition for empty ones', () => {
    expect(read(withStatus({ conditions: [{ type: 'Denied' }] }))?.conditions).toEqual([
      { type: 'Denied', status: '', reason: '' },
    ]);
  });

  it('takes anything in status.certificate for an issued certificate', () => {
    for (const certificate of ['eA==', {}, 1, true]) expect(read(withStatus({ certificate }))?.issued).toBe(true);
    expect(read(withStatus({ certificate: '' }))?.issued).toBe(false);
  });

  it('takes anything in metadata.deletionTimestamp for deletion', () => {
    for (const deletionTimestamp of ['2026-03-02T11:59:00Z', '', 0, {}])
      expect(read(withMetadata({ deletionTimestamp }))?.deleting).toBe(true);
    expect(read(withMetadata({ deletionTimestamp: null }))?.deleting).toBe(false);
  });

  it('takes a text of 1,024 characters for a text, and a longer one for none', () => {
    expect(read(withSpec({ signerName: 'a'.repeat(1_024) }))?.signerName).toHaveLength(1_024);
    expect(read(withSpec({ signerName: 'a'.repeat(1_025) }))?.signerName).not.toBe('a'.repeat(1_025));
  });

  it('ignores unknown fields', () => {
    expect(read({ ...withSpec({ extra: { 'example.com/x': ['y'] } }), more: [1] })).toEqual(read(good));
  });

  it('takes absent groups and usages for none', () => {
    expect(read(withSpec({ groups: undefined, usages: null }))).toMatchObject({ groups: [], usages: [] });
  });

  it.each([
    ['text', 'CertificateSigningRequest', undefined, 'metadata.name is missing or too long'],
    ['null', null, undefined, 'metadata.name is missing or too long'],
    ['a list', [good], undefined, 'metadata.name is missing or too long'],
    ['no object at all', undefined, undefined, 'metadata.name is missing or too long'],
    ['without metadata', { spec: good.spec }, undefined, 'metadata.name is missing or too long'],
    ['with an empty name', withMetadata({ name: '' }), '', 'metadata.name is missing or too long'],
    ['with a name that is a number', withMetadata({ name: 7 }), undefined, 'metadata.name is missing or too long'],
    ['without a spec', { ...good, spec: null }, 'csr-1', 'spec.username is missing or too long'],
    ['without a username', withSpec({ username: undefined }), 'csr-1', 'spec.username is missing or too long'],
    ['with a username that is a list', withSpec({ username: ['a'] }), 'csr-1', 'spec.username is missing or too long'],
    ['without a signer', withSpec({ signerName: undefined }), 'csr-1', 'spec.signerName is missing or too long'],
    ['with groups as text', withSpec({ groups: 'system:nodes' }), 'csr-1', 'spec.groups is not a list of strings'],
    ['with a group that is null', withSpec({ groups: [null] }), 'csr-1', 'spec.groups is not a list of strings'],
    ['with 257 groups', withSpec({ groups: Array(257).fill('a') }), 'csr-1', 'spec.groups is not a list of strings'],
    ['with usages as an object', withSpec({ usages: {} }), 'csr-1', 'spec.usages is not a list of strings'],
    ['with a nested usage', withSpec({ usages: [['server auth']] }), 'csr-1', 'spec.usages is not a list of strings'],
    [
      'with a lifetime as text',
      withSpec({ expirationSeconds: '3600' }),
      'csr-1',
      'spec.expirationSeconds is not an integer',
    ],
    ['with half a second', withSpec({ expirationSeconds: 0.5 }), 'csr-1', 'spec.expirationSeconds is not an integer'],
    [
      'with an endless lifetime',
      withSpec({ expirationSeconds: JSON.parse('1e400') }),
      'csr-1',
      'spec.expirationSeconds is not an integer',
    ],
    [
      'with conditions as an object',
      withStatus({ conditions: {} }),
      'csr-1',
      'status.conditions is not a list of conditions',
    ],
    [
      'with a condition that is text',
      withStatus({ conditions: ['Approved'] }),
      'csr-1',
      'status.conditions is not a list of conditions',
    ],
    [
      'with a condition without type',
      withStatus({ conditions: [{ status: 'True' }] }),
      'csr-1',
      'status.conditions is not a list of conditions',
    ],
  ])('refuses an object %s', (_, object, name, problem) => {
    expect(readSigningRequest(object)).toEqual({ ok: false, name, problem });
  });

  it.each([
    ['missing', undefined],
    ['no text', 42],
    ['not base64', '!!!!'],
    ['base64 without padding', 'YQ'],
    ['base64 with a line feed', 'YWJj\nYWJj'],
    ['base64url', '-_-_'],
    ['base64 with bits that mean nothing', 'YR=='],
    ['too large', 'A'.repeat(128 * 1024 + 4)],
  ])('has no request when it is %s', (_, request) => {
    expect(read(withSpec({ request }))).toMatchObject({ name: 'csr-1', request: undefined });
  });

  it('gives a value for any JSON', () => {
    const keys = fc.constantFrom('metadata', 'spec', 'status', 'name', 'username', 'groups', 'conditions', '__proto__');
    fc.assert(
      fc.property(fc.oneof(fc.jsonValue(), fc.object({ key: keys, maxDepth: 4 })), (value) => {
        const reading = readSigningRequest(value);
        expect(reading.ok ? reading.csr.name : reading.problem).not.toBe('');
      }),
      { seed: 1, numRuns: 5000 },
    );
  });

  it('gives a value for a good object with any field replaced', () => {
    const paths = ['metadata', 'spec', 'status'].flatMap((part) => [
      [part],
      ...Object.keys({ ...good.metadata, ...good.spec, conditions: [], certificate: '' }).map((key) => [part, key]),
    ]);
    fc.assert(
      fc.property(fc.constantFrom(...paths), fc.jsonValue(), ([part = '', key], value) => {
        const changed = key === undefined ? value : Object.assign({}, field(good, part), { [key]: value });
        const replaced = { ...good, [part]: changed };
        const reading = readSigningRequest(replaced);
        expect(reading.ok ? reading.csr.name : reading.problem).not.toBe('');
      }),
      { seed: 1, numRuns: 5000 },
    );
  });
});

describe('instant', () => {
  it.each([
    ['2026-03-02T12:00:00Z', NOW],
    ['2026-03-02T12:00:00.5Z', NOW + 500],
    ['2026-03-02T12:00:00.123456789Z', NOW + 123],
    ['2026-03-02T13:30:00+01:30', NOW],
  ])('reads %s', (value, milliseconds) => {
    expect(instant(value)).toBe(milliseconds);
  });

  it.each([
    undefined,
    '',
    '2026-03-02',
    'now',
    '2026-13-02T12:00:00Z',
    '2026-03-02T25:00:00Z',
    '2026-03-02 12:00:00Z',
    '2026-03-02T12:00:00',
    '1772452800',
    'Mon, 02 Mar 2026 12:00:00 GMT',
  ])('does not read %j', (value) => {
    expect(instant(value)).toBeUndefined();
  });
});
