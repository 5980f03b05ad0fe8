import { invalid } from './classify.ts';
import { AwsError } from './errors.ts';

const MAX_PAGES = 10;

interface ListPage {
  readonly items: readonly unknown[] | undefined;
  readonly nextToken: string | undefined;
}

/**
 * All pages of a list of EKS.
 *
 * @param object what is attempted, for the error
 * @throws AwsError `invalid` for a list that is longer than can be, or does not end
 */
export async function listAll(
  object: string,
  most: number,
  page: (nextToken: string | undefined) => Promise<ListPage>,
): Promise<readonly unknown[]> {
  const all: unknown[] = [];
  let token: string | undefined;
  for (let pages = 0; pages < MAX_PAGES; pages += 1) {
    const { items, nextToken } = await page(token);
    if (!Array.isArray(items)) throw invalid(object, 'the answer holds no list');
    all.push(...items);
    if (all.length > most) throw invalid(object, `the list has more than ${most} items`);
    if (!nextToken) return all;
    token = nextToken;
  }
  throw invalid(object, `the list does not end after ${MAX_PAGES} pages`);
}

/** Asks for each of a list. What is deleted between list and description is not there. @throws AwsError */
export async function described<T>(
  ids: readonly unknown[],
  describe: (id: unknown) => Promise<T>,
): Promise<readonly T[]> {
  const found = await Promise.all(
    ids.map(async (id) => {
      try {
        return [await describe(id)];
      } catch (error) {
        if (error instanceof AwsError && error.kind === 'not-found') return [];
        throw error;
      }
    }),
  );
  return found.flat();
}
