import { EventEmitter } from 'node:events';
import type { KubeObject, StoredMetadata } from './kube-object.ts';

/** An object before the store has given it a resourceVersion. */
export type Unversioned<T extends KubeObject> = Omit<T, 'metadata'> & {
  readonly metadata: Omit<StoredMetadata, 'resourceVersion'>;
};

/** Told about every change: the object as it is now, or undefined when it is gone. */
export type ChangeListener<T extends KubeObject> = (object: T | undefined, key: string) => void;

/** The objects of one resource. Keys are `name` or `namespace/name`. */
export interface ObjectStore<T extends KubeObject> {
  get(key: string): T | undefined;
  /** Stores under the next resourceVersion, whatever was there before. */
  put(object: Unversioned<T>): T;
  remove(key: string): void;
  /** All objects in the order of their keys, which is the order of etcd and of every list. Not to be changed. */
  all(): readonly T[];
  /** @returns how to end it. */
  watch(key: string, listener: ChangeListener<T>): () => void;
  /** @returns how to end it. */
  watchAll(listener: ChangeListener<T>): () => void;
}

/** The counter behind resourceVersion, which all resources of a server share. */
export interface Revisions {
  current(): number;
  next(): number;
}

export function createRevisions(): Revisions {
  let revision = 1;
  return { current: () => revision, next: () => (revision += 1) };
}

export function keyOf({
  metadata: { namespace, name },
}: {
  readonly metadata: Pick<StoredMetadata, 'namespace' | 'name'>;
}): string {
  return namespace === undefined ? name : `${namespace}/${name}`;
}

export function createObjectStore<T extends KubeObject>(revisions: Revisions): ObjectStore<T> {
  const objects = new Map<string, T>();
  // One event for each key and one for all; a fleet has far more listeners than an emitter expects.
  const byKey = new EventEmitter().setMaxListeners(0);
  const toAll = new EventEmitter().setMaxListeners(0);
  let sorted: readonly T[] | undefined;

  const changed = (key: string, object: T | undefined): void => {
    sorted = undefined;
    byKey.emit(`/${key}`, object, key);
    toAll.emit('change', object, key);
  };

  return {
    get: (key) => objects.get(key),
    put(object) {
      const key = keyOf(object);
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- what was missing of a T is what is added here
      const stored = {
        ...object,
        metadata: inWireOrder({ ...object.metadata, resourceVersion: String(revisions.next()) }),
      } as KubeObject as T;
      objects.set(key, stored);
      changed(key, stored);
      return stored;
    },
    remove(key) {
      if (!objects.delete(key)) return;
      revisions.next();
      changed(key, undefined);
    },
    all() {
      sorted ??= [...objects.entries()].toSorted(([a], [b]) => (a < b ? -1 : 1)).map(([, object]) => object);
      return sorted;
    },
    watch(key, listener) {
      byKey.on(`/${key}`, listener);
      return () => byKey.off(`/${key}`, listener);
    },
    watchAll(listener) {
      toAll.on('change', listener);
      return () => toAll.off('change', listener);
    },
  };
}

/** The order in which the real server writes them, for people who compare the two. */
function inWireOrder({ name, generateName, namespace, uid, resourceVersion, ...rest }: StoredMetadata): StoredMetadata {
  return {
    name,
    ...(generateName === undefined ? {} : { generateName }),
    ...(namespace === undefined ? {} : { namespace }),
    uid,
    resourceVersion,
    ...rest,
  };
}
