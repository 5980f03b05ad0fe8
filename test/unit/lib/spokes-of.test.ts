import { describe, expect, it } from 'vitest';
import { spokesOf } from '../../../lib/spokes-of.ts';
import { discovery } from '../fleet/values.ts';

const A = '111122223333';
const B = '222233334444';
const HUB = { account: '999900001111', region: 'eu-central-1' };

describe('spokesOf', () => {
  it('makes nothing for the place of the hub alone', () => {
    expect(spokesOf([discovery()], HUB)).toEqual([]);
  });

  it('makes a role in one Region of each other account', () => {
    const spokes = spokesOf([discovery({ accounts: ['self', A, B], regions: ['eu-west-1', 'us-east-1'] })], HUB);
    expect(spokes.map(({ account, region }) => `${account} ${region}`)).toEqual([`${A} eu-west-1`, `${B} eu-west-1`]);
    expect(spokes[0]?.roles).toEqual([
      { name: 'certmarshal-spoke', sessionTags: {}, regions: ['eu-west-1', 'us-east-1'] },
    ]);
  });

  it.each([
    ['known', HUB, ['eu-west-1', 'eu-central-1']],
    ['not known', {}, ['eu-west-1', 'self']],
  ])('makes it in the Region of the hub where that is discovered too, and %s', (_what, hub, regions) => {
    const spokes = spokesOf([discovery({ accounts: [A], regions: ['eu-west-1', 'self'] })], hub);
    expect(spokes).toMatchObject([{ account: A, region: 'self', roles: [{ regions }] }]);
  });

  it('knows the account and the Region of the hub by their names too', () => {
    const entry = discovery({ accounts: [HUB.account], regions: [HUB.region], accessEntries: ['dublin'] });
    expect(spokesOf([entry], HUB)).toEqual([{ account: 'self', region: 'self', roles: [], accessEntries: ['dublin'] }]);
  });

  it('makes access entries where the clusters are', () => {
    const entries = [
      discovery({ accounts: [A], regions: ['eu-west-1'], externalId: 'id' }),
      discovery({ accounts: [A], regions: ['us-east-1'], externalId: 'id', accessEntries: ['reno'] }),
      discovery({ regions: ['eu-west-1'], accessEntries: ['cork'] }),
    ];
    expect(spokesOf(entries, HUB)).toEqual([
      {
        account: A,
        region: 'eu-west-1',
        roles: [{ name: 'certmarshal-spoke', externalId: 'id', sessionTags: {}, regions: ['eu-west-1', 'us-east-1'] }],
        accessEntries: [],
      },
      { account: A, region: 'us-east-1', roles: [], accessEntries: ['reno'] },
      { account: 'self', region: 'eu-west-1', roles: [], accessEntries: ['cork'] },
    ]);
  });

  it('makes a role for each name', () => {
    const entries = [
      discovery({ accounts: [A], regions: ['eu-west-1'] }),
      discovery({ accounts: [A], regions: ['us-east-1'], role: 'other' }),
    ];
    expect(spokesOf(entries, HUB)[0]?.roles.map(({ name }) => name)).toEqual(['certmarshal-spoke', 'other']);
  });
});
