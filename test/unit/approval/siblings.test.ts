import { describe, expect, it } from 'vitest';
import type { SigningRequest } from '../../../lambdas/approval/request.ts';
import { relateSiblings } from '../../../lambdas/approval/siblings.ts';
import { type CsrFields, csrObject, NOW, signingRequest } from './fixtures.ts';

const csr = (fields: CsrFields): SigningRequest => signingRequest(csrObject(fields));
const relate = (...requests: SigningRequest[]) => requests.map(relateSiblings(requests, NOW, 900));

describe('relateSiblings', () => {
  it('lets only the newest request of a requester count', () => {
    expect(
      relate(
        csr({ name: 'middle', ageSeconds: 20 }),
        csr({ name: 'newest', ageSeconds: 10 }),
        csr({ name: 'oldest', ageSeconds: 30 }),
      ),
    ).toEqual([{ pending: 3, supersededBy: 'newest' }, { pending: 3 }, { pending: 3, supersededBy: 'newest' }]);
  });

  it('picks the same one of two of the same second in any order', () => {
    const [a, b] = [csr({ name: 'csr-a' }), csr({ name: 'csr-b' })];
    expect(relate(a, b)).toEqual([{ pending: 2, supersededBy: 'csr-b' }, { pending: 2 }]);
    expect(relate(b, a)).toEqual([{ pending: 2 }, { pending: 2, supersededBy: 'csr-b' }]);
  });

  it('keeps requesters apart', () => {
    expect(relate(csr({ name: 'a', node: 'node-1' }), csr({ name: 'b', node: 'node-2' }))).toEqual([
      { pending: 1 },
      { pending: 1 },
    ]);
  });

  it.each<[string, CsrFields]>([
    ['approved', { conditions: ['Approved'] }],
    ['denied', { conditions: ['Denied'] }],
    ['failed', { conditions: ['Failed'] }],
    ['issued', { certificate: 'eA==' }],
    ['being deleted', { deleting: true }],
    ['for another signer', { signerName: 'example.com/signer' }],
    ['given up on by its kubelet', { ageSeconds: 901 }],
  ])('counts none that is %s', (_, fields) => {
    const [open, other] = relate(csr({ name: 'open', ageSeconds: 800 }), csr({ name: 'z', ageSeconds: 10, ...fields }));
    expect(open).toEqual({ pending: 1 });
    expect(other?.supersededBy).toBe(fields.ageSeconds === undefined ? undefined : 'open');
  });

  it('counts one that is just as old as the window', () => {
    expect(relate(csr({ name: 'a', ageSeconds: 900 }), csr({ name: 'b' }))[1]).toEqual({ pending: 2 });
  });

  it('takes a request without a time for a new one that any other supersedes', () => {
    const timeless = { ...csr({ name: 'timeless' }), createdAt: undefined };
    expect(relate(timeless, csr({ name: 'a' }))).toEqual([{ pending: 2, supersededBy: 'a' }, { pending: 2 }]);
  });

  it('relates a request that was not among those it looked at to nothing', () => {
    expect(relateSiblings([], NOW, 900)(csr({}))).toEqual({ pending: 0 });
  });
});
